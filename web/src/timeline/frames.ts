// Measures the times of frames: window.xspFrames has the latest 4096, for tests and measurements.

const KEEP = 4096;

class Frames {
  private readonly between = new Float64Array(KEEP); // ns since the frame before, while something moves; 0:
  // at rest
  private readonly drawn = new Float64Array(KEEP); // time spent in drawing
  private count = 0;
  private last = 0;

  // `moves` tells whether this frame followed the one before without a pause.
  add(now: number, drawing: number, moves: boolean) {
    const at = this.count++ % KEEP;
    this.between[at] = moves ? now - this.last : 0;
    this.drawn[at] = drawing;
    this.last = now;
  }
  reset() {
    this.count = 0;
  }
  // Returns, in milliseconds, the times between consecutive frames, and the time that each took to draw.
  read(): { between: number[]; drawing: number[] } {
    const count = Math.min(this.count, KEEP);
    return {
      between: Array.from(this.between.subarray(0, count)).filter((one) => one > 0),
      drawing: Array.from(this.drawn.subarray(0, count)),
    };
  }
}

declare global {
  interface Window {
    xspFrames?: Frames;
  }
}

export const frames = new Frames();
export type { Frames };
