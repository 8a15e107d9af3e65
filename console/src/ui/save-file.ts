/** Hands the body of an answer to the person as a file. */
export async function saveFile(body: Response | Blob, name: string): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(body instanceof Blob ? body : await body.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Beyond this, pieces go into a blob, which the browser may keep on disk. */
const pieceBytes = 4 * 1024 * 1024;
const toldEveryMs = 200;

/** The body as a blob; tells how many bytes came so far. */
export async function withProgress(response: Response, tell: (bytes: number) => void): Promise<Blob> {
  const blobs: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let [all, waiting, toldAt] = [0, 0, 0];
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece === undefined || piece.done) break;
    pieces.push(piece.value);
    all += piece.value.length;
    waiting += piece.value.length;
    if (waiting > pieceBytes) {
      blobs.push(new Blob(pieces));
      [pieces, waiting] = [[], 0];
    }
    if (performance.now() - toldAt > toldEveryMs) {
      toldAt = performance.now();
      tell(all);
    }
  }
  return new Blob([...blobs, ...pieces], { type: response.headers.get('content-type') ?? '' });
}
