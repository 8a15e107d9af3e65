/** A preference that outlives the page. A browser that keeps nothing behaves as on a first visit. */
export function storedText(name: string): { read(): string | undefined; write(text: string): void } {
  return {
    read() {
      try {
        return localStorage.getItem(name) ?? undefined;
      } catch {
        return undefined;
      }
    },
    write(text) {
      try {
        localStorage.setItem(name, text);
      } catch {
        // Nothing is kept in this browser.
      }
    },
  };
}
