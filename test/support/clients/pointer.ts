// The pointer and the keyboard of a person at a browser.
import type { Page } from 'puppeteer-core';

/** Presses what the selector finds. */
export async function click(page: Page, selector: string): Promise<void> {
  const act = page.locator(selector).filter(takesPointer).click();
  await explained(`"${selector}" took no click`, act);
}

/** Writes into the field that the selector finds, or chooses an option of it. */
export async function fillIn(page: Page, selector: string, text: string): Promise<void> {
  const act = page.locator(selector).filter(takesPointer).fill(text);
  await explained(`"${selector}" took no text`, act);
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Element {
  readonly ownerDocument: {
    readonly defaultView: { readonly innerWidth: number; readonly innerHeight: number };
  };
  matches(selector: string): boolean;
  contains(other: Element | null): boolean;
  getClientRects(): Iterable<Box>;
  getRootNode(): { elementFromPoint?(x: number, y: number): Element | null };
  scrollIntoView(options: { readonly block: 'center'; readonly inline: 'center' }): void;
}

/**
 * Whether a click reaches the element. The library clicks at the element's place whatever lies over it: the backdrop of
 * a window that is about to close takes the click then, and the test waits for something that nobody asked for. False
 * makes the locator look again, at an element that may be another one by then. Runs in the page.
 */
function takesPointer(found: object): boolean {
  const element = found as Element;
  if (element.matches(':disabled')) return false;
  const isHit = (): boolean => {
    const { innerWidth, innerHeight } = element.ownerDocument.defaultView;
    // A link that goes on in the next line has several boxes; the first one is clicked.
    const [box] = element.getClientRects();
    if (box === undefined) return false;
    const { left, right, top, bottom } = box;
    const x = (Math.max(left, 0) + Math.min(right, innerWidth)) / 2;
    const y = (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2;
    return element.contains(element.getRootNode().elementFromPoint?.(x, y) ?? null);
  };
  if (isHit()) return true;
  element.scrollIntoView({ block: 'center', inline: 'center' });
  return isHit();
}

/** The library's error says only how long it waited. */
export async function explained(problem: string, act: Promise<unknown>): Promise<void> {
  try {
    await act;
  } catch (error) {
    throw new Error(`${problem}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
