import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { anyone, declare, type Operation, type OperationTable, RawReply } from '../operations/index.js';
import { openApiOf } from './openapi.js';
import { documentsPage, documentsPageHeaders, operationList } from './page.js';
import { type Packed, packed } from './packed.js';

/** The documents describe the table that contains them, so `describe` receives the table afterwards. */
export function createDocuments(info: {
  readonly version: string;
  readonly url: () => string;
  readonly soon: Time['soon'];
  /** The built reference around the list of operations; undefined where it is not built. */
  readonly reference?: ((list: string) => RawReply) | undefined;
}): {
  readonly operations: readonly Operation[];
  readonly describe: (table: OperationTable) => void;
} {
  let table: OperationTable | undefined;
  let document: Promise<Packed> | undefined;
  let list: string | undefined;
  const complete = (): OperationTable => {
    if (table === undefined) throw new Error('the documents were requested before the table was complete');
    return table;
  };
  const pause = (): Promise<void> => new Promise((resolve) => info.soon(resolve));
  const described = async (): Promise<Packed> => {
    const { version } = info;
    return packed(JSON.stringify(await openApiOf(complete(), { version, url: info.url() }, pause)));
  };
  const operations = [
    declare({
      name: 'documents.openapi',
      method: 'GET',
      path: '/openapi.json',
      title: 'The OpenAPI 3.1 document of this API',
      access: anyone(),
      rate: 'uncounted',
      headers: ['accept-encoding'],
      output: z.looseObject({ openapi: z.string() }),
      handle: async ({ headers }) => {
        document ??= described();
        const { coding, bytes } = (await document).as(headers['accept-encoding'] ?? '');
        const coded = coding !== undefined && { 'Content-Encoding': coding };
        return new RawReply('application/json; charset=utf-8', bytes, {
          headers: { Vary: 'Accept-Encoding', ...coded },
        });
      },
    }),
    declare({
      name: 'documents.page',
      method: 'GET',
      path: '/docs',
      title: 'The reference of this API',
      description:
        'Every operation with its fields, answers, errors, samples and a form to try it. Behind `#` the address names an operation.',
      access: anyone(),
      rate: 'uncounted',
      contentType: 'text/html',
      output: z.string(),
      handle: () => {
        list ??= operationList(complete());
        if (info.reference !== undefined) return info.reference(list);
        return new RawReply('text/html; charset=utf-8', documentsPage(list), {
          headers: documentsPageHeaders,
        });
      },
    }),
  ];
  return {
    operations,
    describe: (described) => {
      table = described;
    },
  };
}

export { accepts } from './packed.js';
