// The pointer and the keyboard of a person at a browser.
import { type Page, TimeoutError } from 'puppeteer-core';

/** How long a click waits in all; an element that is gone by then is not waited for as long. */
const clickMs = 60_000;
const elementMs = 5_000;

/** Presses what the selector finds, again if it moved away under the pointer. */
export async function click(page: Page, selector: string): Promise<void> {
  const endsAt = performance.now() + clickMs;
  const act = async (): Promise<void> => {
    while (!(await clickOnce(page, selector)))
      if (performance.now() > endsAt) throw new Error('each click went beside it');
  };
  await explained(`"${selector}" took no click`, act());
}

/** False if the click went beside it: what is loaded late moves a button between the look at its place and the click. */
async function clickOnce(page: Page, selector: string): Promise<boolean> {
  await using found = await page.locator(selector).map(reached).map(watched).waitHandle();
  try {
    await found.asLocator().setTimeout(elementMs).click();
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    // The click may have come, and only its answer be late.
    return found.evaluate((element: Element) => element.isClicked === true).catch(() => false);
  }
  // A click that leads to another page takes the element away before it can tell.
  return found.evaluate(wasClicked).catch(() => true);
}

/** Writes into the field that the selector finds, or chooses an option of it. */
export async function fillIn(page: Page, selector: string, text: string): Promise<void> {
  const act = page.locator(selector).map(reached).map(emptied).fill(text);
  await explained(`"${selector}" took no text`, act);
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** What is used of an element: there is no library of the browser's types. */
interface Element {
  readonly ownerDocument: {
    readonly defaultView: { readonly innerWidth: number; readonly innerHeight: number };
    execCommand(name: 'delete'): boolean;
  };
  readonly isConnected: boolean;
  /** Of fields. */
  readonly type?: string;
  readonly value?: string;
  isClicked?: boolean;
  matches(selector: string): boolean;
  contains(other: Element | null): boolean;
  getClientRects(): Iterable<Box>;
  getRootNode(): { elementFromPoint?(x: number, y: number): Element | null };
  scrollIntoView(options: { readonly block: 'center'; readonly inline: 'center' }): void;
  addEventListener(type: 'click', listener: () => void, options: { readonly capture: true }): void;
  focus(): void;
  select?(): void;
}

/**
 * The element, if a click reaches it. The library clicks at the element's place whatever lies over it: the backdrop of a
 * window that is about to close takes the click then, and the test waits for something that nobody asked for. Throws
 * otherwise, which makes the locator look again, at an element that may be another one by then: its `filter` would ask
 * the first one for ever. Runs in the page.
 */
function reached<Found extends Element>(element: Found): Found {
  if (element.matches(':disabled')) throw new Error('the element is disabled');
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
  if (isHit()) return element;
  element.scrollIntoView({ block: 'center', inline: 'center' });
  if (isHit()) return element;
  throw new Error('the element is covered');
}

/** Notes clicks on the element. Runs in the page. */
function watched<Found extends Element>(element: Found): Found {
  if (element.isClicked === undefined)
    element.addEventListener('click', () => (element.isClicked = true), { capture: true });
  element.isClicked = false;
  return element;
}

/** What a click took out of the page got it. Runs in the page. */
function wasClicked(element: Element): boolean {
  return element.isClicked === true || !element.isConnected;
}

/**
 * The field, emptied as a person does. The library takes the text away without an event, and a page that is drawn again
 * before the first key puts it back. Runs in the page.
 */
function emptied<Found extends Element>(field: Found): Found {
  const typed = ['text', 'url', 'tel', 'search', 'password', 'number', 'email', 'textarea'];
  if (field.type === undefined || !typed.includes(field.type) || field.value === '') return field;
  field.focus();
  field.select?.();
  field.ownerDocument.execCommand('delete');
  if (field.value !== '') throw new Error('the field is not empty');
  return field;
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
