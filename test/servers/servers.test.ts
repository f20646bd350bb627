import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { tempDir } from '@signalbox/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cleanEnv, signalboxArgv } from '../support/cli/command-line.ts';
import { startWorkspace } from '../support/cli/workspace.ts';
import { root } from '../support/packages/documented-programs.ts';
import { InstalledProject } from '../support/packages/installed-project.ts';
import { type Difference, differencesOf } from '../support/servers/differences.ts';
import { type ServerView, viewOf } from '../support/servers/server-view.ts';
import { connectMcpClient, type McpClient } from '../support/worker/mcp-client.ts';

/** A server of a public package. */
interface PublicServer {
  /** The package with its version. */
  from: string;
  /** The program in the package. */
  entry: string;
  args?: string[];
  env?: Record<string, string>;
  /** Tools that are not called: they wait for a client with a window, take long, or tell the load of the machine. */
  skipped?: string[];
}

/** Stands for the folder that a server works in. */
const work = 'WORK';

/** Servers that need no network, no credentials and no other program. */
const servers: Record<string, PublicServer> = {
  everything: {
    from: '@modelcontextprotocol/server-everything@2026.8.31',
    entry: 'dist/index.js',
    skipped: ['get-env', 'trigger-long-running-operation', 'gzip-file-as-resource'],
  },
  filesystem: {
    from: '@modelcontextprotocol/server-filesystem@2026.8.31',
    entry: 'dist/index.js',
    args: [work],
  },
  memory: {
    from: '@modelcontextprotocol/server-memory@2026.8.31',
    entry: 'dist/index.js',
    env: { MEMORY_FILE_PATH: `${work}/memory.jsonl` },
  },
  thinking: { from: '@modelcontextprotocol/server-sequential-thinking@2026.8.31', entry: 'dist/index.js' },
  pdf: {
    from: '@modelcontextprotocol/server-pdf@2.0.4',
    entry: 'dist/index.js',
    args: ['--stdio'],
    skipped: ['interact', 'poll_pdf_commands'],
  },
  budget: {
    from: '@modelcontextprotocol/server-budget-allocator@2.0.3',
    entry: 'dist/index.js',
    args: ['--stdio'],
  },
  monitor: {
    from: '@modelcontextprotocol/server-system-monitor@2.0.3',
    entry: 'dist/index.js',
    args: ['--stdio'],
    skipped: ['poll-system-stats'],
  },
  threejs: {
    from: '@modelcontextprotocol/server-threejs@2.0.3',
    entry: 'dist/index.js',
    args: ['--stdio'],
  },
  puppeteer: {
    from: '@modelcontextprotocol/server-puppeteer@2025.5.12',
    entry: 'dist/index.js',
    env: { PUPPETEER_EXECUTABLE_PATH: '/nonexistent/chromium' },
  },
  calc: { from: '@coo-quack/calc-mcp@2.1.1', entry: 'dist/index.js' },
  drawio: { from: '@drawio/mcp@1.6.1', entry: 'src/index.js' },
  'mcp-git': { from: 'mcp-git@0.0.4', entry: 'dist/cli.js' },
  git: { from: '@cyanheads/git-mcp-server@2.15.3', entry: 'dist/index.js' },
  bash: { from: 'just-bash-mcp@3.1.0', entry: 'dist/index.js' },
  knip: { from: '@knip/mcp@0.0.36', entry: 'src/cli.js' },
  lucide: { from: 'lucide-icons-mcp@0.1.67', entry: 'build/entry.js', args: ['--stdio'] },
  nx: { from: 'nx-mcp@0.25.0', entry: 'main.js' },
  'mcpz-pdf': { from: '@mcp-z/mcp-pdf@3.2.2', entry: 'bin/server.js' },
  'pdf-reader': { from: '@sylphx/pdf-reader-mcp@2.4.0', entry: 'dist/index.js' },
  ripgrep: { from: 'mcp-ripgrep@0.4.0', entry: 'dist/index.js' },
  shrimp: {
    from: 'mcp-shrimp-task-manager@1.0.21',
    entry: 'dist/index.js',
    env: { DATA_DIR: `${work}/shrimp` },
  },
  storybook: {
    from: 'storybook-mcp@0.4.0',
    entry: 'dist/index.js',
    env: { STORYBOOK_URL: 'http://127.0.0.1:9/' },
  },
  vitest: { from: '@djankies/vitest-mcp@0.5.1', entry: 'dist/index.js' },
  hello: { from: 'mcp-hello-world@1.1.2', entry: 'build/stdio.js' },
  debugger: { from: '@debugmcp/mcp-debugger@0.17.0', entry: 'dist/cli', args: ['stdio'] },
  eslint: { from: '@eslint/mcp@0.3.13', entry: 'src/mcp-cli.js' },
  excel: {
    from: '@negokaz/excel-mcp-server@0.12.0',
    entry: 'dist/launcher.js',
    // They list what is wrong with their arguments in any order.
    skipped: ['excel_write_to_sheet', 'excel_create_table', 'excel_format_range'],
  },
};

/** A difference that is meant. */
interface Reason {
  /** Its name in the document. */
  title: string;
  /** The only servers that it holds for; by default all. */
  of?: string[];
  /** Matches the place of the difference. */
  where: RegExp;
  /** Returns true if the difference is as the reason says; by default it always is. */
  holds?: (difference: Difference) => boolean;
  /** True if all servers differ in this. */
  isGeneral?: boolean;
  why: string;
}

/** The differences that are meant, and why. A difference that no entry explains fails the test. */
const reasons: Reason[] = [
  {
    title: 'identity',
    where: /^handshake > serverInfo/,
    isGeneral: true,
    why: 'The agent’s server is Signalbox, which serves the tools of many servers.',
  },
  {
    title: 'instructions',
    where: /^handshake > instructions$/,
    holds: ({ direct = '', through }) => linesOf(direct).every((line) => String(through).includes(line)),
    isGeneral: true,
    why: 'They explain the mailbox, and quote those of each server.',
  },
  {
    title: 'capabilities',
    where: /^handshake > capabilities > (completions|experimental|logging|prompts|resources|tools)/,
    holds: ({ through }) => through !== undefined,
    isGeneral: true,
    why: 'Signalbox declares what it can pass on for any server, so that a client need not connect again when one changes.',
  },
  {
    title: 'order',
    where: /^lists > \w+ > order > /,
    why: 'Lists are sorted by name, so that models find them unchanged.',
  },
  {
    title: 'refused calls',
    where: /^answers > incomplete call /,
    holds: ({ path, through }) => path.at(-1) !== 'isError' || through === true,
    why: 'Arguments that do not fit the schema are refused before they are sent, with the names of all parameters.',
  },
  {
    title: 'unknown names',
    where: /^answers > unknown (tool|resource) /,
    holds: ({ path, through }) => path.at(-1) !== 'code' || through === -32602,
    why: 'A name that no server has is refused by Signalbox, with -32602 and, for a tool, the most similar name.',
  },
  {
    title: 'revision',
    where: /^handshake > revision$/,
    why: 'Server and agent each agree with Signalbox on a revision; they need not be the same.',
  },
  {
    title: 'empty lists',
    where: /^refusedLists > /,
    why: 'The server declares a list and answers the request for it with an error; agents see an empty list.',
  },
  {
    title: 'old tasks',
    of: ['everything'],
    where: /^handshake > capabilities > tasks$/,
    why: 'Tasks of revision 2025-11-25 are not passed on: an extension has replaced them.',
  },
  {
    title: 'tools that ask',
    of: ['everything'],
    where: /^lists > tools > entries > trigger-(elicitation|sampling)-request$/,
    why: 'The server lists them only to clients that it can ask, and Signalbox can be asked.',
  },
];

let base: AsyncDisposable & { path: string };
let project: InstalledProject;
const rows: string[] = [];

beforeAll(async () => {
  base = await tempDir();
  project = new InstalledProject(base.path, 'servers');
  const packages = Object.values(servers).map(({ from }) => from);
  process.stdout.write(`npm installs in ${project.path}:\n  ${packages.join('\n  ')}\n`);
  await project.install(packages);
});

afterAll(async () => {
  await base?.[Symbol.asyncDispose]();
  if (rows.length === Object.keys(servers).length) await writeDocument();
});

test.each(Object.entries(servers))(
  '%s shows and answers through Signalbox what it does directly, apart from differences that have a reason.',
  async (name, server) => {
    const config = stdioConfig(server);
    const skipped = server.skipped ?? [];
    const views: ServerView[] = [];
    let plan: Parameters<typeof viewOf>[1]['plan'];
    for (const _ of ['first', 'second']) {
      await makeWork();
      await using direct = await connectMcpClient(new StdioClientTransport({ ...config, stderr: 'ignore' }));
      const { plan: planned, ...view } = await viewOf(direct, {
        isOwn: () => false,
        skipped,
        ...(plan && { plan }),
      });
      plan = planned;
      views.push(view);
    }
    await makeWork();
    const through = await viewThrough(name, config, { skipped, ...(plan && { plan }) });
    const [direct, again] = views as [ServerView, ServerView];
    // A server may answer differently each time, with the time of day or new ids.
    const varying = differencesOf(direct, again).map(({ path }) => path.join('\n'));
    const found = differencesOf(direct, through).filter(({ path }) => !isWithin(path, varying));
    const unexplained = found.filter((one) => !reasonFor(name, one));
    expect(unexplained.map((one) => ({ ...one, path: one.path.join(' > ') }))).toEqual([]);
    addRow(name, server, direct, found);
  },
);

function workFolder(): string {
  return join(base.path, 'work');
}

/** Makes the folder that the servers work in anew, so that each run finds the same files. */
async function makeWork(): Promise<void> {
  await rm(workFolder(), { recursive: true, force: true });
  await mkdir(join(workFolder(), 'home'), { recursive: true });
  await writeFile(join(workFolder(), 'note.txt'), 'first\nsecond\n');
}

function stdioConfig({ from, entry, args = [], env = {} }: PublicServer) {
  const folder = join(project.path, 'node_modules', from.slice(0, from.lastIndexOf('@')));
  const inWork = (text: string): string => text.replace(work, workFolder());
  const own = Object.entries(env).map(([name, value]) => [name, inWork(value)] as const);
  return {
    command: process.execPath,
    args: [join(folder, entry), ...args.map(inWork)],
    cwd: workFolder(),
    env: { HOME: join(workFolder(), 'home'), PATH: process.env.PATH ?? '', ...Object.fromEntries(own) },
  };
}

/** Starts `signalbox up` with the server, and reads the view of an agent behind `signalbox worker mcp`. */
async function viewThrough(
  name: string,
  config: ReturnType<typeof stdioConfig>,
  options: Pick<Parameters<typeof viewOf>[1], 'skipped' | 'plan'>,
): Promise<ServerView> {
  const all = [`${name}:*`];
  const text = JSON.stringify({
    broker: { listen: '127.0.0.1:0', data: './state' },
    mcpServers: { [name]: { ...config, prefix: false } },
    roles: { reader: { tools: ['*'], prompts: all, resources: all } },
  });
  await using workspace = await startWorkspace(() => text);
  const { env } = await workspace.agent('reader', 'reader');
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: signalboxArgv(['worker', 'mcp']),
    env: cleanEnv(env),
    stderr: 'ignore',
  });
  await using client: McpClient = await connectMcpClient(transport);
  const isOwn = (one: string) => one.startsWith('signalbox');
  const { plan: _plan, ...view } = await viewOf(client, { isOwn, ...options });
  return view;
}

function isWithin(path: readonly string[], varying: readonly string[]): boolean {
  return path.some((_, i) => varying.includes(path.slice(0, i + 1).join('\n')));
}

function linesOf(text: unknown): string[] {
  return String(text).split('\n');
}

function reasonFor(name: string, difference: Difference): Reason | undefined {
  const place = difference.path.join(' > ');
  return reasons.find(
    ({ of, where, holds }) =>
      (!of || of.includes(name)) && where.test(place) && (!holds || holds(difference)),
  );
}

function addRow(name: string, { from }: PublicServer, view: ServerView, found: readonly Difference[]): void {
  const at = from.lastIndexOf('@');
  const sizes = ['tools', 'prompts', 'resources', 'resourceTemplates'].map(
    (field) => view.lists[field]?.order.length ?? 0,
  );
  const own = reasons.filter(
    (reason) => !reason.isGeneral && found.some((one) => reasonFor(name, one) === reason),
  );
  const cells = [
    `\`${from.slice(0, at)}\``,
    from.slice(at + 1),
    String(view.handshake.revision),
    sizes.join(' / '),
    String(Object.keys(view.answers).length),
    own.map(({ title }) => title).join(', '),
  ];
  rows.push(`| ${cells.join(' | ')} |`);
}

async function writeDocument(): Promise<void> {
  const explained = reasons.map(({ title, isGeneral, why }) => {
    return `| ${title} | ${isGeneral ? 'all' : 'those that name it'} | ${why} |`;
  });
  const text = `# Servers that were compared

\`npm run test:servers\` writes this page. It installs these public servers, and reads each with the official client of
the SDK: directly, and as an agent does, through \`signalbox up\` and \`worker mcp\` with \`prefix: false\`. It compares
handshake, lists, results and errors field by field. It fails on a difference that the second table does not explain.
Values that differ between two direct runs, such as times, are left out.

| package | version | revision | tools / prompts / resources / templates | requests | differences |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

| difference | servers | why |
| --- | --- | --- |
${explained.join('\n')}
`;
  await writeFile(join(root, 'docs/servers.md'), text);
}
