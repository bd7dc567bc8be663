// Calls `open` if the next click is the second of a double click. It may land anywhere, because the first one
// shows the selection in the head of the page, which may move what is under the pointer.
export function onSecondClick(open: () => void): void {
  window.addEventListener(
    'click',
    (event) => {
      if (event.detail < 2) return;
      event.preventDefault();
      event.stopPropagation();
      open();
    },
    { capture: true, once: true },
  );
}
