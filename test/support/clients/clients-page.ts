import type { ClientRecord } from './client-record.ts';
import type { DirectRecord } from './direct-record.ts';
import { probeNames, schemas } from './probe-mcp-content.ts';

type Json = Record<string, unknown>;

/** The parts of the table of patience that the page shows. */
interface KnownClient {
  name: string;
  givesUpMs: number;
  answerAfterMs: number;
}

/** Writes the page of the documents: all that its tables say is read from the records. */
export function clientsPage(records: readonly ClientRecord[], known: readonly KnownClient[]): string {
  const groups = groupsOf(records);
  const clients = records.map((one) => {
    const { name, offers, declares } = handshakeOf(one.direct);
    const patience = known.find((each) => name.startsWith(each.name));
    return [
      one.client,
      `\`${one.package}\``,
      one.version,
      one.recorded,
      `\`${name}\``,
      offers.join(', then '),
      declares.join(', ') || 'nothing',
      patience ? `${patience.answerAfterMs / 1000} of ${patience.givesUpMs / 1000} s` : '',
    ];
  });
  const measured = rows.map(([title, cell]) => [title, ...groups.map(([first]) => cell(first!))]);
  return `# Agent CLIs that were run

\`npm run test:clients\` runs each of these CLIs that is installed, with an empty home, twice: with a small MCP server that
writes down what it is told, and by \`worker run\` on a \`signalbox up\` with a public server. An imitation of the API of
its model, on the same machine, calls tools and keeps what the model would have read. What was seen is compared with
\`test/clients/records\`, and a difference fails the command: so the next change of a CLI is seen. \`-- --install\` installs
the versions of this table first, into \`node_modules/.cache/clients\`; \`-- --record\` writes the records and this page
anew; names of CLIs choose among them. The tables are made from the records.

${tableOf(['CLI', 'package', 'version', 'seen on', 'calls itself', 'offers revision', 'declares', 'waits'], clients)}

*Waits* is no measurement of this command: a call that waits for a person is answered after the first time, because the
CLI gives up after the second, as its settings or a run of that length said for this version.

## What a CLI does with a server, and shows its model

The server is named S and its tool T. The CLIs ran without a terminal, with one prompt. The result is one with two
texts unless the row says otherwise.

${tableOf(['', ...groups.map((group) => group.map(({ client }) => client).join(', '))], measured)}

## Seen by hand

These take longer, or need a terminal. They were seen on 2026-11-28 with the same versions, and kilo 7.7.9.

- A silent call ends after 300 s in codex, 180 s in copilot, 600 s in qwen, 60 s in opencode, kilo and cline. Progress
  resets that in opencode, kilo and copilot, not in codex and qwen; cline asks for none.
- copilot and qwen leave a server running that ignores its closed input and SIGTERM.
- claude on its terminal does not wait for its servers: a prompt of the first seconds goes out without their tools. Only
  there it declares the extension for [tasks](guide/resources.md#tasks).
- Over HTTP claude, codex and copilot begin a new session after a 404. claude and codex repeat the call, copilot does
  not.
- After a kill -9 of our shim in a call, claude calls again through a new one. codex and copilot have to be restarted, as
  \`worker run\` says.
- Seen on 2026-11-29: \`worker config --http\` with \`--allow\`, pasted as printed, gives each of the eight our tools, and
  calls pass without a question. Mail that comes while the model writes its last answer begins one more turn in claude,
  copilot and qwen (hook \`Stop\`), with what our hook says.
`;
}

/** The rows of the table of measurements. */
const rows: [title: string, cell: (record: ClientRecord) => string][] = [
  ['tools', ({ direct }) => (direct.isListed ? 'listed' : 'behind its search')],
  ['name of a tool', ({ direct }) => templateOf(direct.names.texts)],
  ['longest name', ({ direct }) => longestName(direct)],
  ['a dot in a name', ({ direct }) => dotOf(direct.names['dotted.name'])],
  [
    'instructions',
    ({ direct: { instructions } }) => {
      if (instructions.read === instructions.of) return 'all';
      return instructions.read < 20 ? 'none' : `the first ${instructions.read} characters`;
    },
  ],
  ['changed in a schema', ({ direct }) => changesOf(direct.schema).join(', ') || 'nothing'],
  [
    '`structuredContent` beside a text',
    ({ direct }) => formsOf(direct.read.structured, 'as data', 'in words'),
  ],
  ['a link to a resource', ({ direct }) => shownIn(direct.read.blocks, 'probe://linked')],
  ['an embedded text', ({ direct }) => shownIn(direct.read.blocks, 'embedded text')],
  ['an embedded archive', ({ direct }) => archiveOf(direct.read.blocks)],
  ['`_meta` of a result', ({ direct }) => shownIn(direct.read.blocks, 'in _meta')],
  [
    'of a line of 100,000 characters',
    ({ direct }) => (direct.readOfLarge >= 100_000 ? 'all' : direct.readOfLarge.toLocaleString('en-US')),
  ],
  [
    'a JSON-RPC error',
    ({ direct: { read } }) =>
      ['-32050', 'refused by the probe', 'as data']
        .map((part, at) =>
          JSON.stringify(read.refuses).includes(part) ? ['code', 'message', 'data'][at] : '',
        )
        .filter(Boolean)
        .join(', '),
  ],
  ['a question to the user', ({ direct }) => answerOf(direct.asked)],
  ['`roots/list`', ({ direct }) => answerOf(direct.roots)],
  [
    'calls of one answer',
    ({ direct: { besideEachOther } }) => {
      if (besideEachOther.others) return 'at once';
      return besideEachOther.readOnly ? 'at once if `readOnlyHint`' : 'in turn';
    },
  ],
  ['a tool that is announced later', ({ direct }) => (direct.names.late === null ? 'not seen' : 'used')],
  [
    'the server dies in a call',
    ({ direct }) =>
      direct.startsAgain
        ? 'started again'
        : direct.read.lives === null
          ? 'its tools are gone'
          : 'its calls fail',
  ],
  ['ends the server by', ({ direct }) => direct.ended.join(', ')],
  [
    'its variables reach the server',
    ({ direct: { inherits } }) => (inherits.secret ? 'all' : inherits.plain ? 'but secret names' : 'a few'),
  ],
  ['our tools', ({ through }) => (through.isListed ? 'listed' : 'behind its search')],
  ['our instructions', ({ through }) => (through.readsInstructions ? 'read' : 'not read')],
  [
    'our line on [new mail](guide/workers.md#mailbox)',
    ({ through }) => shownIn(through.read.mcp_everything__echo, '[signalbox] 1 new message'),
  ],
  ['a message of the inbox', ({ through }) => through.readsMailAs.join(' and ') || 'nothing'],
];

/** Puts clients together that are the same in all rows. */
function groupsOf(records: readonly ClientRecord[]): ClientRecord[][] {
  const groups = new Map<string, ClientRecord[]>();
  for (const record of records) {
    const cells = JSON.stringify(rows.map(([, cell]) => cell(record)));
    groups.set(cells, [...(groups.get(cells) ?? []), record]);
  }
  return [...groups.values()];
}

/** Returns what a client says of itself before its first call. */
export function handshakeOf({ handshake }: DirectRecord) {
  const offers: string[] = [];
  let [name, declares]: [string, string[]] = ['', []];
  for (const { method, params = {} } of handshake) {
    const { _meta = {}, protocolVersion, capabilities, clientInfo } = params as Record<string, Json>;
    if (method === 'server/discover') offers.push(String(_meta['io.modelcontextprotocol/protocolVersion']));
    if (method !== 'initialize') continue;
    offers.push(String(protocolVersion));
    name = String(clientInfo?.name).replace(/-probe$/, '');
    declares = Object.entries(capabilities ?? {}).flatMap(([one, value]) =>
      one === 'elicitation' || one === 'extensions'
        ? Object.keys(value as Json).map((part) => (one === 'extensions' ? part : `${one} ${part}`))
        : one === 'experimental'
          ? []
          : [one],
    );
  }
  return { name, offers, declares };
}

function templateOf(name: string | null | undefined): string {
  const [tool, group] = name?.replace('probe', 'S').replace('texts', 'T').split('/').toReversed() ?? [];
  if (tool === undefined) return 'none';
  return group === undefined ? `\`${tool}\`` : `\`${tool}\` in the namespace \`${group}\``;
}

/** Returns the length to which names are cut, or at which tools are left out. */
function longestName({ names }: DirectRecord): string {
  const long = probeNames.slice(1).map((tool) => ({ tool, shown: names[tool] ?? null }));
  const cut = long.find(({ tool, shown }) => shown !== null && !shown.includes(tool));
  const kept = long.findLast(({ tool, shown }) => shown?.includes(tool))?.shown?.length ?? 0;
  if (cut?.shown) return `${cut.shown.replace(/^.*\//, '').length}, then cut`;
  return long.some(({ shown }) => shown === null) ? `${kept} kept, the longest is gone` : `${kept} kept`;
}

function dotOf(name: string | null | undefined): string {
  const [, sign, rest] = /dotted(.)name(.*)$/.exec(name ?? '') ?? [];
  if (sign === '.') return 'kept';
  return `\`${sign}\`${rest ? ', hash' : ''}`;
}

const features: Record<string, string> = {
  a_format: 'format, pattern, default',
  a_range: 'minimum, maximum',
  a_const: 'const',
  a_nullable: 'null',
  a_tuple: 'tuples',
  an_open_array: 'arrays of anything',
  a_choice: 'anyOf',
};

function changesOf(schema: unknown): string[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Json };
  const changed = Object.entries(features)
    .filter(
      ([name]) => JSON.stringify(properties[name]) !== JSON.stringify(schemas.properties[name as never]),
    )
    .map(([, words]) => words);
  const added = Object.keys(properties).filter((name) => features[name] === undefined);
  return [...changed, ...added.map((name) => `\`${name}\` is added`)];
}

function shownIn(read: unknown, part: string): string {
  return JSON.stringify(read).includes(part) ? 'shown' : 'dropped';
}

function formsOf(read: unknown, data: string, words: string): string {
  const text = JSON.stringify(read);
  return [text.includes(data) && 'data', text.includes(words) && 'texts'].filter(Boolean).join(' and ');
}

function archiveOf(read: unknown): string {
  const text = JSON.stringify(read);
  if (text.includes('AAAA')) return 'base64';
  return text.includes('saved to')
    ? 'saved to a file'
    : text.includes('application/zip')
      ? 'a note'
      : 'dropped';
}

function answerOf(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return 'no answer';
  const { action, code, roots } = answer as Json;
  if (Array.isArray(roots)) return roots.length > 0 ? 'its folder' : 'none';
  return String(action ?? code);
}

function tableOf(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}
