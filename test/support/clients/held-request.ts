// A request of a page that is held until the test lets it go.
import { type HTTPRequest, InterceptResolutionAction, type Page } from 'puppeteer-core';

export interface HeldRequest {
  /** Resolves when the page has sent the request. */
  readonly sent: Promise<unknown>;
  release(): void;
}

/** Holds the page's next request of this kind; once for a page. */
export async function holdRequest(
  page: Page,
  isHeld: (request: HTTPRequest) => boolean,
): Promise<HeldRequest> {
  let held: HTTPRequest | undefined;
  const sent = page.waitForRequest(isHeld);
  // First, so that no request is paused before it is listened to.
  page.on('request', (request) => {
    if (request.interceptResolutionState().action === InterceptResolutionAction.Disabled) return;
    if (held === undefined && isHeld(request)) held = request;
    else void request.continue();
  });
  await page.setRequestInterception(true);
  return { sent, release: () => void held?.continue() };
}
