import { createContext, useContext } from 'react';
import type { ApiDocument } from './document';

export const DocumentContext = createContext<ApiDocument | undefined>(undefined);

export function useDocument(): ApiDocument {
  const document = useContext(DocumentContext);
  if (document === undefined) throw new Error('the reference is shown only with its document');
  return document;
}
