/** The results as a page: a row for each client and feature. */
export function tableOf(results) {
  const rows = new Map();
  for (const { client, feature, stream, outcome, detail } of results) {
    const key = `${client}\n${feature}`;
    const row = rows.get(key) ?? { client, feature, whole: '–', streamed: '–', details: new Set() };
    row[stream ? 'streamed' : 'whole'] = outcome;
    if (detail !== '') row.details.add(detail.replaceAll('|', '\\|').replaceAll('\n', ' '));
    rows.set(key, row);
  }
  const lines = [...rows.values()].map(
    ({ client, feature, whole, streamed, details }) =>
      `| \`${client}\` | ${feature} | ${whole} | ${streamed} | ${[...details].join('; ')} |`,
  );
  return `# Clients that move by their base address

\`npm run interop\` runs these clients, unmodified, against a vendor's protocol and through the platform before the same vendor, and compares the requests that arrive. \`same\`: the vendor gets every field with its value. \`refused\`: the caller is told the field by name. \`works\`: the client gets what it expects of the models of \`sim\`, which need no vendor.

| Client | Feature | Whole | Streamed | Detail |
|---|---|---|---|---|
${lines.join('\n')}
`;
}
