/** Long enough for every known limit, and so that its length tells where it was cut. */
export const probeInstructions = [
  'The first line of the instructions is of a middle length, so that it is seen whether a client shows it.',
  ...Array.from(
    { length: 100 },
    (_, at) => `Line ${at} of the instructions says how far a model can read them.`,
  ),
].join('\n');

/**
 * A name that is as long behind `mcp__probe__`, or another prefix with the name of the server, as the longest name that Signalbox offers
 * behind `mcp__signalbox__`.
 */
export const ourLongestName = longName(51);

/** Names of tools that clients are known to change. */
export const probeNames = ['dotted.name', ourLongestName, ...[64, 127].map(longName)];

function longName(length: number): string {
  return `long${length}_`.padEnd(length, 'x');
}

const noArguments = { type: 'object', properties: {} };

/** Schemas that clients are known to change, one feature each. */
export const schemas = {
  type: 'object',
  properties: {
    a_format: { type: 'string', format: 'uri', pattern: '^h', default: 'http://a/' },
    a_range: { type: 'integer', minimum: 1, maximum: 9 },
    a_const: { const: 'only' },
    a_nullable: { type: ['string', 'null'] },
    a_tuple: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
    an_open_array: { type: 'array' },
    a_choice: { anyOf: [{ type: 'string' }, { type: 'number' }] },
  },
  required: ['a_const'],
  additionalProperties: false,
};

/** The tools of the probe, or of the `mortal` one, which can die. */
export function probeTools(kind: string, hasLateTool: boolean): Record<string, unknown>[] {
  const tool = (name: string, more: object = {}) => ({
    name,
    description: `The tool ${name} of a probe.`,
    inputSchema: noArguments,
    ...more,
  });
  if (kind === 'mortal') return ['dies', 'lives'].map((name) => tool(name));
  return [
    ...['texts', 'blocks', 'fails', 'refuses', 'asks', 'grows', 'large', 'together_write'].map((name) =>
      tool(name),
    ),
    tool('together_read', { annotations: { readOnlyHint: true } }),
    tool('structured', {
      outputSchema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
    }),
    tool('schemas', { inputSchema: schemas }),
    ...probeNames.map((name) => tool(name)),
    ...(hasLateTool ? [tool('late')] : []),
  ];
}
