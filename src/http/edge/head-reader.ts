import type { HttpRequest } from 'uWebSockets.js';

/**
 * Reads the headers that the HTTP server itself needs, in one walk over all of them: a native call for each takes as long
 * as a walk over three. The walk also checks that the request says unambiguously where its body ends. The native parser
 * takes the first of several `Content-Length` lines and treats any `Transfer-Encoding` as `chunked`; a proxy in front
 * may decide otherwise, and would pass on as a body what the native parser reads as the next request.
 */
export class HeadReader {
  #hosts = 0;
  #lengths = 0;
  #codings = 0;
  #length = '';
  #coding = '';
  // Headers of the request read last; empty if the request does not have the header.
  host = '';
  requestId = '';
  contentType = '';
  apiKey = '';
  authorization = '';
  tenantId = '';
  origin = '';
  /** Set by clients of Anthropic's API. */
  anthropicVersion = '';

  read(request: HttpRequest): void {
    this.#hosts = this.#lengths = this.#codings = 0;
    this.host = this.requestId = this.contentType = this.apiKey = '';
    this.authorization = this.tenantId = this.origin = this.anthropicVersion = '';
    request.forEach(this.#note);
  }

  /** The problem of the request's framing, if any. */
  get fault(): string | undefined {
    if (this.#hosts !== 1 || this.host === '')
      return 'The request needs exactly one Host header with a value.';
    if (this.#lengths === 0 && this.#codings === 0) return undefined;
    if (this.#lengths > 0 && this.#codings > 0)
      return 'The request has both Content-Length and Transfer-Encoding headers; send only one of them.';
    if (this.#lengths > 1) return 'The request has more than one Content-Length header.';
    if (this.#codings > 1) return 'The request has more than one Transfer-Encoding header.';
    if (this.#codings === 1)
      return this.isChunked ? undefined : 'The only supported transfer coding is chunked.';
    // The native parser accepts no more digits either.
    return /^\d{1,18}$/.test(this.#length) ? undefined : 'The Content-Length header is not a number.';
  }

  /** The declared length; 0 if it is absent or not a number. */
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
        this.host = value;
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
      case 'origin':
        this.origin ||= value;
        break;
      case 'anthropic-version':
        this.anthropicVersion ||= value;
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
