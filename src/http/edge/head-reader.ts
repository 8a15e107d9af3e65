import type { HttpRequest } from 'uWebSockets.js';

/**
 * The headers of a request that the door itself reads, from one walk over all of them: to ask the native side for each
 * one takes as long as to be shown three. The walk also tells whether a request says in one way only where its body ends.
 * Of several `Content-Length` lines the native parser takes the first, and any `Transfer-Encoding` it takes for `chunked`;
 * a proxy in front may decide otherwise, and would let through as a body what the native parser takes for the next
 * request.
 */
export class HeadReader {
  #hosts = 0;
  #lengths = 0;
  #codings = 0;
  #host = '';
  #length = '';
  #coding = '';
  // Of the request that was read last; empty where it has no such header.
  requestId = '';
  contentType = '';
  apiKey = '';
  authorization = '';
  tenantId = '';

  read(request: HttpRequest): void {
    this.#hosts = this.#lengths = this.#codings = 0;
    this.requestId = this.contentType = this.apiKey = this.authorization = this.tenantId = '';
    request.forEach(this.#note);
  }

  /** What is wrong with the request's framing, if anything. */
  get fault(): string | undefined {
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

  /** As it is declared; 0 where it is not, or is no number. */
  get contentLength(): number {
    return this.#lengths === 0 ? 0 : Number(this.#length) || 0;
  }

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
      case 'x-api-key':
        this.apiKey ||= value;
        break;
      case 'authorization':
        this.authorization ||= value;
        break;
      case 'x-tenant-id':
        this.tenantId ||= value;
        break;
      case 'content-type':
        this.contentType ||= value;
        break;
      case 'x-request-id':
        this.requestId ||= value;
        break;
      default:
    }
  };
}
