import type { HttpRequest } from 'uWebSockets.js';

/**
 * Whether a request says in one way only where its body ends. Of several `Content-Length` lines the native parser takes
 * the first, and any `Transfer-Encoding` it takes for `chunked`; a proxy in front may decide otherwise, and would let
 * through as a body what the native parser takes for the next request.
 */
export class FramingCheck {
  #hosts = 0;
  #lengths = 0;
  #codings = 0;
  #host = '';
  #length = '';
  #coding = '';

  /** What is wrong with the request, if anything. */
  faultOf(request: HttpRequest): string | undefined {
    this.#hosts = this.#lengths = this.#codings = 0;
    request.forEach(this.#note);
    if (this.#hosts !== 1 || this.#host === '') return 'The request needs one Host header that is not empty.';
    if (this.#lengths === 0 && this.#codings === 0) return undefined;
    if (this.#lengths > 0 && this.#codings > 0)
      return 'The request has a Content-Length header beside a Transfer-Encoding header; send one of them.';
    if (this.#lengths > 1) return 'The request has more than one Content-Length header.';
    if (this.#codings > 1) return 'The request has more than one Transfer-Encoding header.';
    if (this.#codings === 1)
      return this.isChunked ? undefined : 'The only transfer coding that is accepted is chunked.';
    // The native parser takes no more digits either.
    return /^\d{1,18}$/.test(this.#length) ? undefined : 'The Content-Length header is not a number.';
  }

  /** Of the request that was looked at last. */
  get isChunked(): boolean {
    return this.#codings > 0 && this.#coding.toLowerCase() === 'chunked';
  }

  readonly #note = (name: string, value: string): void => {
    switch (name) {
      case 'host':
        this.#hosts += 1;
        this.#host = value;
        break;
      case 'content-length':
        this.#lengths += 1;
        this.#length = value;
        break;
      case 'transfer-encoding':
        this.#codings += 1;
        this.#coding = value;
        break;
      default:
    }
  };
}
