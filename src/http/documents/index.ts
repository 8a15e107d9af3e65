import { z } from 'zod';
import { anyone, declare, type Operation, type OperationTable, RawReply } from '../operations/index.js';
import { openApiOf } from './openapi.js';
import { documentsPage, documentsPageHeaders } from './page.js';

/** The documents describe the table that contains them, so `describe` receives the table afterwards. */
export function createDocuments(info: { readonly version: string; readonly url: () => string }): {
  readonly operations: readonly Operation[];
  readonly describe: (table: OperationTable) => void;
} {
  let table: OperationTable | undefined;
  let document: string | undefined;
  let page: string | undefined;
  const complete = (): OperationTable => {
    if (table === undefined) throw new Error('the documents were requested before the table was complete');
    return table;
  };
  const operations = [
    declare({
      name: 'documents.openapi',
      method: 'GET',
      path: '/openapi.json',
      title: 'The OpenAPI 3.1 document of this API',
      access: anyone(),
      rate: 'uncounted',
      output: z.looseObject({ openapi: z.string() }),
      handle: () => {
        document ??= JSON.stringify(openApiOf(complete(), { version: info.version, url: info.url() }));
        return new RawReply('application/json; charset=utf-8', document);
      },
    }),
    declare({
      name: 'documents.page',
      method: 'GET',
      path: '/docs',
      title: 'A readable page of this API',
      access: anyone(),
      rate: 'uncounted',
      contentType: 'text/html',
      output: z.string(),
      handle: () => {
        page ??= documentsPage(complete());
        return new RawReply('text/html; charset=utf-8', page, { headers: documentsPageHeaders });
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
