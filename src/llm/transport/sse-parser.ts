import type { SseEvent } from '../vendor.js';
import { eventTooLarge, type EventParser } from './event-parser.js';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;

/**
 * Server-sent events from bytes that may be cut anywhere: inside a character, between CR and LF, inside a field's name.
 * It works on bytes and decodes only whole lines, so a cut character never shows. Comments, ids and retry times are
 * skipped. `end` also delivers a last event whose blank line never came: several vendors forget it.
 */
export class SseParser implements EventParser {
  readonly #eventBytesMax: number;
  #rest: Buffer | undefined;
  #restScanned = 0;
  #skipLineFeed = false;
  #first = true;
  #event = '';
  #data: string | undefined;
  #dataBytes = 0;

  constructor(eventBytesMax: number) {
    this.#eventBytesMax = eventBytesMax;
  }

  push(chunk: Buffer, onEvent: (event: SseEvent) => void): void {
    let bytes = chunk;
    let scanFrom = 0;
    if (this.#rest !== undefined) {
      scanFrom = this.#restScanned;
      bytes = Buffer.concat([this.#rest, chunk]);
      this.#rest = undefined;
    }
    let start = 0;
    if (this.#skipLineFeed && bytes.length > 0) {
      if (bytes[0] === lineFeed) start = 1;
      this.#skipLineFeed = false;
    }
    let nextCr = bytes.indexOf(carriageReturn, Math.max(start, scanFrom));
    // Nearly every vendor ends lines by LF alone. Then all whole lines are decoded at once: what a call into native
    // code costs for each of them would be more than all the rest.
    if (nextCr === -1 && !(this.#first && bytes[start] === 0xef)) {
      const end = bytes.lastIndexOf(lineFeed) + 1;
      if (end > start) {
        this.#first = false;
        this.#lines(bytes.toString('utf8', start, end), onEvent);
        start = end;
      }
    }
    let nextLf = bytes.indexOf(lineFeed, Math.max(start, scanFrom));
    while (nextLf !== -1 || nextCr !== -1) {
      const isCr = nextCr !== -1 && (nextLf === -1 || nextCr < nextLf);
      const end = isCr ? nextCr : nextLf;
      this.#line(bytes, start, end, onEvent);
      start = end + 1;
      if (isCr) {
        if (start === bytes.length) this.#skipLineFeed = true;
        else if (bytes[start] === lineFeed) start += 1;
        nextCr = bytes.indexOf(carriageReturn, start);
      }
      if (nextLf !== -1 && nextLf < start) nextLf = bytes.indexOf(lineFeed, start);
    }
    if (start < bytes.length) {
      this.#rest = start === 0 ? bytes : bytes.subarray(start);
      this.#restScanned = this.#rest.length;
      this.#bound(this.#rest.length);
    }
  }

  end(onEvent: (event: SseEvent) => void): void {
    if (this.#rest !== undefined) this.#line(this.#rest, 0, this.#rest.length, onEvent);
    this.#rest = undefined;
    this.#dispatch(onEvent);
  }

  /** Complete lines, each ended by a line feed. */
  #lines(text: string, onEvent: (event: SseEvent) => void): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      if (start === end) this.#dispatch(onEvent);
      else if (text.startsWith(dataStart, start)) this.#value(text.slice(afterColon(text, start, end), end));
      else this.#rareLine(text.slice(start, end));
      start = end + 1;
    }
  }

  #value(value: string): void {
    this.#bound(value.length);
    // Characters of two and three bytes are counted as one each: three times the bound is a bound too.
    this.#dataBytes += value.length;
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
  }

  #rareLine(line: string): void {
    const bytes = Buffer.from(line);
    this.#line(bytes, 0, bytes.length, nothing);
  }

  #line(bytes: Buffer, lineStart: number, end: number, onEvent: (event: SseEvent) => void): void {
    let start = lineStart;
    if (this.#first) {
      this.#first = false;
      // A byte order mark is allowed at the very beginning.
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3;
    }
    if (start === end) {
      this.#dispatch(onEvent);
      return;
    }
    if (isField(bytes, start, end, dataField)) {
      const value = valueOf(bytes, start + dataField.length, end);
      this.#bound(end - start);
      this.#dataBytes += end - start;
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (isField(bytes, start, end, eventField)) {
      this.#event = valueOf(bytes, start + eventField.length, end);
    }
  }

  #dispatch(onEvent: (event: SseEvent) => void): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = '';
    this.#dataBytes = 0;
    if (data !== undefined) onEvent({ event, data });
  }

  #bound(more: number): void {
    if (this.#dataBytes + more > this.#eventBytesMax) throw eventTooLarge(this.#eventBytesMax);
  }
}

const dataStart = 'data:';

function afterColon(text: string, start: number, end: number): number {
  const first = start + dataStart.length;
  return first < end && text.charCodeAt(first) === space ? first + 1 : first;
}

/** Only an empty line ends an event. */
function nothing(): void {}

const dataField = Buffer.from('data');
const eventField = Buffer.from('event');

function isField(bytes: Buffer, start: number, end: number, name: Buffer): boolean {
  const after = start + name.length;
  if (after > end || (after < end && bytes[after] !== colon)) return false;
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + index] !== name[index]) return false;
  }
  return true;
}

/** What follows the colon, without the one space that may come first; a field without a colon is empty. */
function valueOf(bytes: Buffer, afterName: number, end: number): string {
  if (afterName === end) return '';
  const start = bytes[afterName + 1] === space ? afterName + 2 : afterName + 1;
  return bytes.toString('utf8', start, Math.max(start, end));
}
