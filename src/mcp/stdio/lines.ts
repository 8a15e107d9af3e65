/** The largest message; the server refuses larger ones too. */
const lineBytesMax = 20 * 1024 * 1024;

/** The lines of a byte stream. A line beyond the bound is dropped and read as an invalid one. */
export async function* lineReader(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  let isTooLong = false;
  for await (const chunk of input) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const line = isTooLong ? '?' : part.trim();
      isTooLong = false;
      if (line !== '') yield line;
    }
    if (rest.length > lineBytesMax) {
      rest = '';
      isTooLong = true;
    }
  }
}
