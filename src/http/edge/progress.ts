import type { RequestSpan } from '../../infra/diagnostics/index.js';
import type { Caller } from '../../kernel/caller.js';
import type { RateFigures, WorkAhead } from '../operations/index.js';

/** How far a request is. */
export interface Progress {
  readonly span?: RequestSpan | undefined;
  caller: Caller | undefined;
  figures: RateFigures | undefined;
  ahead?: WorkAhead | undefined;
}

export interface Running extends Progress {
  /** Taken before the request was authenticated. */
  mark: number;
  /** Whether it asks for model work that no window has counted yet. */
  asksForWork: boolean;
  /** Of the body, once it was read. */
  bodyBytes: number;
}
