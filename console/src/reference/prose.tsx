/** Paragraphs with `code`, as the document's descriptions have them. */
export function Prose({ text }: { readonly text: string }) {
  return text.split(/\n\n+/).map((paragraph) => (
    <p key={paragraph} className="wrap-anywhere">
      <Inline text={paragraph} />
    </p>
  ));
}

export function Inline({ text }: { readonly text: string }) {
  const pieces = text.split('`');
  return pieces.map((piece, at) =>
    at % 2 === 1 && at < pieces.length - 1 ? (
      <code key={`${at} ${piece}`} className="rounded bg-sunken px-1 font-mono text-[0.92em]">
        {piece}
      </code>
    ) : (
      piece
    ),
  );
}
