import type { Frame, Pipe } from '../../../cluster/links/pipe.js';

/** The pipe of an open link that keeps what is written to it, and how it was closed. */
export function recordedPipe(): {
  readonly pipe: Pipe;
  readonly sent: Frame[];
  readonly closed: (Error | undefined)[];
} {
  const sent: Frame[] = [];
  const closed: (Error | undefined)[] = [];
  const pipe: Pipe = {
    binding: () => new Uint8Array(0),
    trust() {},
    write: (frames) => {
      for (const frame of frames) sent.push(frame);
      return true;
    },
    close: (error) => closed.push(error),
    onFrames() {},
    onDrain() {},
    onClose() {},
  };
  return { pipe, sent, closed };
}
