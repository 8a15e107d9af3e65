/** Translates the input items of a Responses request into messages. */
import { z } from 'zod';
import { invalidField } from '../../../kernel/errors.js';
import { JsonSize } from '../../../http/operations/index.js';
import {
  type AssistantPart,
  type ImagePart,
  type Message,
  type TextPart,
  type UserPart,
  unpackSignature,
} from '../../../llm/index.js';
import { userPartOf } from '../../parts/index.js';
import { checkedImage, requireContent } from '../compat-request.js';

const itemsMax = 10_000;
/** Encrypted content of a thought that the vendor sends only encrypted. */
export const redactedMark = 'redacted:';

const messageItem = z.object({
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.unknown(),
});
const callItem = z.object({ call_id: z.string().min(1), name: z.string().min(1), arguments: z.string() });
const outputItem = z.object({ call_id: z.string().min(1), output: z.unknown() });
const reasoningItem = z.object({
  summary: z.array(z.object({ text: z.string() })).default([]),
  encrypted_content: z.string().nullish(),
});
const partType = z.object({ type: z.string() });
const textPart = z.object({ text: z.string() });
const refusalPart = z.object({ refusal: z.string() });
const imagePart = z.object({
  image_url: z.string().nullish(),
  file_id: z.string().nullish(),
  detail: z.string().nullish(),
});
const filePart = z.object({
  file_data: z.string().nullish(),
  file_url: z.string().max(8_192).nullish(),
  file_id: z.string().nullish(),
  filename: z.string().max(255).nullish(),
});

/** `ignored` gets the names of the fields without effect. */
export function messagesOf(input: unknown, history: readonly Message[], ignored: Set<string>): Message[] {
  if (typeof input === 'string') {
    const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: input }] }];
    return answered(history, messages);
  }
  if (!Array.isArray(input)) throw invalidField('input', 'must be a text or a list of items');
  if (input.length > itemsMax) throw invalidField('input', `must have at most ${itemsMax} items`);
  const reader = new ItemReader(history, ignored);
  for (const [at, item] of input.entries()) reader.read(item, `input.${at}`);
  if (reader.messages.length === 0) throw invalidField('input', 'must not be empty');
  return answered(history, reader.messages);
}

class ItemReader {
  readonly messages: Message[] = [];
  readonly #toolNames = new Map<string, string>();
  readonly #ignored: Set<string>;
  /** Some vendors need arguments as objects; the size check of the body does not look inside texts. */
  readonly #written = new JsonSize();
  /** The answer that the next output items belong to. */
  #answer: AssistantPart[] | undefined;

  constructor(history: readonly Message[], ignored: Set<string>) {
    this.#ignored = ignored;
    for (const message of history) {
      if (message.role !== 'assistant') continue;
      for (const part of message.content) {
        if (part.type === 'tool_call') this.#toolNames.set(part.id, part.name);
      }
    }
  }

  read(item: unknown, field: string): void {
    const type = parsedAt(z.object({ type: z.string().nullish() }), item, field).type ?? 'message';
    switch (type) {
      case 'message':
        return this.#message(parsedAt(messageItem, item, field), field);
      case 'function_call':
        return this.#call(parsedAt(callItem, item, field), field);
      case 'function_call_output':
        return this.#output(parsedAt(outputItem, item, field), field);
      case 'reasoning':
        return this.#reasoning(parsedAt(reasoningItem, item, field));
      case 'item_reference':
        // References to stored items were replaced before.
        throw invalidField(`${field}.id`, 'names no stored item');
      default:
        throw invalidField(`${field}.type`, `${type.slice(0, 50)} is not supported`);
    }
  }

  #message({ role, content }: z.output<typeof messageItem>, field: string): void {
    if (role === 'assistant') {
      const text = plainText(content, `${field}.content`);
      if (text !== '') this.#parts().push({ type: 'text', text });
      return;
    }
    this.#answer = undefined;
    this.messages.push(
      role === 'user'
        ? { role, content: this.#userParts(content, `${field}.content`, readFile) }
        : { role: 'system', content: plainText(content, `${field}.content`) },
    );
  }

  #call({ call_id: id, name, arguments: written }: z.output<typeof callItem>, field: string): void {
    if (this.#written.addText(written) !== undefined) {
      throw invalidField(`${field}.arguments`, 'are nested too deeply or too long');
    }
    this.#toolNames.set(id, name);
    this.#parts().push({ type: 'tool_call', id, name, arguments: written });
  }

  #output({ call_id: callId, output }: z.output<typeof outputItem>, field: string): void {
    const name = this.#toolNames.get(callId);
    if (name === undefined) {
      throw invalidField(`${field}.call_id`, 'does not match an earlier function_call');
    }
    this.#answer = undefined;
    // Vendors take no files as results of tools.
    const content = this.#userParts(output, `${field}.output`, (_, at) => refuseOther('input_file', at));
    this.messages.push({ role: 'tool', callId, name, content });
  }

  /** A thought that was not packed here has no maker, so nobody takes it back. */
  #reasoning({ summary, encrypted_content: packed }: z.output<typeof reasoningItem>): void {
    const opened = packed == null ? undefined : unpackSignature(packed);
    if (opened === undefined) return;
    const { signature, origin } = opened;
    this.#parts().push(
      signature.startsWith(redactedMark)
        ? { type: 'redacted_thinking', data: signature.slice(redactedMark.length), origin }
        : { type: 'thinking', text: summary.map(({ text }) => text).join(''), signature, origin },
    );
  }

  /** Output items in a row are one message: vendors want the calls and the text of an answer together. */
  #parts(): AssistantPart[] {
    if (this.#answer === undefined) {
      this.#answer = [];
      this.messages.push({ role: 'assistant', content: this.#answer });
    }
    return this.#answer;
  }

  #userParts<File>(
    content: unknown,
    field: string,
    file: (part: unknown, at: string) => File,
  ): (TextPart | ImagePart | File)[] {
    if (typeof content === 'string') return [{ type: 'text', text: content }];
    return partsIn(content, field).map(({ part, type, at }): TextPart | ImagePart | File => {
      if (type === 'input_text' || type === 'output_text') {
        return { type: 'text', text: parsedAt(textPart, part, at).text };
      }
      if (type === 'input_image') return this.#image(part, at);
      if (type === 'input_file') return file(part, at);
      throw otherPart(type, at);
    });
  }

  #image(part: unknown, at: string): ImagePart {
    const { image_url: url, file_id: file, detail } = parsedAt(imagePart, part, at);
    if (file != null) throw invalidField(`${at}.file_id`, 'is not supported: send the image as image_url');
    if (detail != null && detail !== 'auto') this.#ignored.add('detail');
    if (url == null) throw invalidField(`${at}.image_url`, 'is required');
    const image = { ...checkedImage(url, `${at}.image_url`), field: at };
    return image;
  }
}

/** PDFs as they are, files of text as text. Files at OpenAI, by `file_id`, are none here. */
function readFile(part: unknown, at: string): UserPart {
  const { file_data: data, file_url: url, file_id: id, filename } = parsedAt(filePart, part, at);
  if (id != null) throw invalidField(`${at}.file_id`, 'is not supported: send the file as file_data');
  const name = filename == null || filename === '' ? undefined : filename;
  if (data != null && url != null) throw invalidField(`${at}.file_url`, 'must not be given with file_data');
  if (url != null) {
    if (!/^https?:/i.test(url)) throw invalidField(`${at}.file_url`, 'must be an http or https address');
    const source = { kind: 'url', url } as const;
    return { type: 'file', source, field: at, ...(name === undefined ? {} : { name }) };
  }
  if (data == null) throw invalidField(`${at}.file_data`, 'is required');
  const [, mediaType = '', content = ''] = /^data:([^;,]+);base64,(.*)$/is.exec(data) ?? [];
  requireContent(content, `${at}.file_data`, 'must be data:<type>;base64,<data> with valid base64');
  const bytes = Buffer.from(content, 'base64');
  return userPartOf({ mediaType: mediaType.toLowerCase(), name, bytes, field: at });
}

function plainText(content: unknown, field: string): string {
  if (typeof content === 'string') return content;
  return partsIn(content, field)
    .map(({ part, type, at }) => {
      if (type === 'refusal') return parsedAt(refusalPart, part, at).refusal;
      if (type === 'input_text' || type === 'output_text') return parsedAt(textPart, part, at).text;
      throw otherPart(type, at);
    })
    .join('');
}

function partsIn(content: unknown, field: string) {
  if (!Array.isArray(content) || content.length === 0) {
    throw invalidField(field, 'must be a text or a list of parts');
  }
  return content.map((part: unknown, index) => {
    const at = `${field}.${index}`;
    return { part, at, type: parsedAt(partType, part, at).type };
  });
}

function refuseOther(type: string, at: string): never {
  throw otherPart(type, at);
}

function otherPart(type: string, at: string) {
  return invalidField(`${at}.type`, `${type.slice(0, 50)} is not supported here`);
}

function parsedAt<Output>(schema: z.ZodType<Output>, value: unknown, field: string): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalidField([field, ...(issue?.path ?? [])].join('.'), issue?.message ?? 'not valid');
}

/** Refuses a conversation with a call that has no output: no vendor continues it. Returns the new messages. */
function answered(history: readonly Message[], messages: Message[]): Message[] {
  const open = new Set<string>();
  for (const message of [...history, ...messages]) {
    if (message.role === 'tool') {
      open.delete(message.callId);
      continue;
    }
    refuseOpen(open);
    if (message.role !== 'assistant') continue;
    for (const part of message.content) if (part.type === 'tool_call') open.add(part.id);
  }
  refuseOpen(open);
  return messages;
}

function refuseOpen(open: ReadonlySet<string>): void {
  const [id] = open;
  if (id !== undefined)
    throw invalidField('input', `has no function_call_output for the function_call ${id}`);
}
