// The owners of tables, views and functions, and the files that name another folder's.
import { sqlNames } from './sql-names.js';

export interface Owned {
  readonly name: string;
  /** As `src/tenancy/keys`. */
  readonly owner: string;
  /** Whether other folders may name it. */
  readonly isPublished: boolean;
}

export interface SqlFile {
  readonly path: string;
  readonly texts: readonly string[];
  /** The owner that the file belongs to; without it, the folders of its path. */
  readonly folder?: string;
}

/** Reads the rows `| owner | tables | own functions | published |` of a page. */
export function ownersIn(page: string): readonly Owned[] {
  const rows = [...page.matchAll(/^\| `((?:src|cluster)\/[^`]+)` \|(.*)\|(.*)\|(.*)\|$/gm)];
  return rows.flatMap(([, owner = '', tables = '', functions = '', published = '']) => [
    ...namesIn(`${tables} ${functions}`).map((name) => ({ name, owner, isPublished: false })),
    ...namesIn(published).map((name) => ({ name, owner, isPublished: true })),
  ]);
}

function namesIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** One line for each name that a file uses and another folder owns without publishing it. */
export function crossings(owned: readonly Owned[], files: readonly SqlFile[]): readonly string[] {
  const byName = new Map(owned.map((one) => [one.name, one]));
  return files.flatMap(({ path, texts, folder = path }) => {
    const names = texts.flatMap(sqlNames).filter(({ use }) => use !== 'reference');
    const foreign = names
      .map(({ name }) => byName.get(name))
      .filter((one) => one !== undefined)
      .filter(({ owner, isPublished }) => !isPublished && !`${folder}/`.startsWith(`${owner}/`));
    return [...new Set(foreign)].map(({ name, owner }) => `${path} names ${name}, which ${owner} owns`);
  });
}
