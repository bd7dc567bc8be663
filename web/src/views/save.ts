// Saves a text or a file: in the folder of downloads, or to the clipboard.
export function saveAs(name: string, type: string, content: string | Blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Returns false if the browser does not let a page write there.
export async function copy(text: string): Promise<boolean> {
  return (
    (await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )) === true
  );
}
