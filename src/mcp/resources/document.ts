import type { OperationTable } from '../../http/operations/index.js';
import type { ClientRequest } from '../client-request.js';
import type { ToolCatalogue } from '../tools/catalogue.js';

/** One resource of the reference material. */
export interface Document {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: 'text/markdown' | 'application/schema+json' | 'application/json';
  read(request: ClientRequest): string | Promise<string>;
}

export interface DocumentParts {
  readonly table: OperationTable;
  readonly catalogue: ToolCatalogue;
  readonly publicUrl: () => string;
}
