// The SQL texts of a TypeScript file. They are read from the compiled file: its syntax tree shows which texts are
// templates, and its comments are no texts.
import { readFileSync } from 'node:fs';
import { parse } from 'acorn';
import { simple } from 'acorn-walk';

/** A word before a relation. */
const sqlText = /\b(?:from|join|into|update|using|truncate|table|copy|lock)\s/i;

/** The texts of the file that may name a table. A gap in a template is written as `${}`. */
export function sqlTextsOf(path: string): readonly string[] {
  return sqlTextsIn(readFileSync(path.replace(/^(.*)\.ts$/, 'dist/$1.js'), 'utf8'));
}

export function sqlTextsIn(script: string): readonly string[] {
  const texts: string[] = [];
  const add = (text: string): void => {
    if (sqlText.test(text)) texts.push(text);
  };
  const tree = parse(script, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true });
  const textOf = (
    quasis: readonly { readonly value: { readonly raw: string; readonly cooked?: string | null } }[],
  ) => quasis.map(({ value }) => value.cooked ?? value.raw).join('${}');
  simple(tree, {
    TaggedTemplateExpression({ tag, quasi }) {
      const text = textOf(quasi.quasis);
      const kind = /^sql\b(\.fragment)?/.exec(script.slice(tag.start, tag.end));
      if (kind === null) return;
      texts.push(text);
      // A fragment may begin with a table.
      if (kind[1] !== undefined) texts.push(`from ${text}`);
    },
    TemplateLiteral(template) {
      add(textOf(template.quasis));
    },
    Literal({ value }) {
      if (typeof value === 'string') add(value);
    },
    // Tables whose names are joined into a statement elsewhere.
    CallExpression({ callee, arguments: [first] }) {
      if (callee.type !== 'Identifier' || callee.name !== 'insertText') return;
      texts.push(`insert into ${first?.type === 'Literal' ? String(first.value) : '${}'}`);
    },
    ObjectExpression({ properties }) {
      const named = properties.flatMap((property) =>
        property.type === 'Property' && property.key.type === 'Identifier'
          ? [[property.key.name, property.value] as const]
          : [],
      );
      const values = new Map(named);
      if (!values.has('columns')) return;
      for (const value of [values.get('name'), values.get('table')]) {
        if (value?.type === 'Literal' && typeof value.value === 'string') texts.push(`into ${value.value}`);
      }
    },
  });
  return texts;
}
