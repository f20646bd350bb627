import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { signalboxArgv } from '../cli/command-line.ts';
import type { Workspace } from '../cli/workspace.ts';
import { root } from '../packages/documented-programs.ts';
import type { AgentCli } from './agent-clis.ts';
import { readResults } from './direct-record.ts';
import { type Step, startScriptedModel } from './model-server.ts';
import { type ClientPlace, prepare, runToEnd } from './run-client.ts';

/** The headings of the guide's sections on clients that can be installed. */
const headings: Readonly<Record<string, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  copilot: 'Copilot CLI',
  opencode: 'opencode',
  gemini: 'Gemini CLI',
};

const steps: readonly Step[] = [
  [{ tool: 'mcp_everything__echo', args: { message: 'hello' } }],
  [{ tool: 'signalbox_inbox_read' }],
];

/** A command of the guide, and the output that the guide shows below it, in which `…` stands for anything. */
interface GuideCommand {
  line: string;
  output: string;
}

/**
 * Does what the guide says for a client, in an empty home, and then gives the client one prompt. Returns what went otherwise; nothing for a
 * client that has no section.
 */
export async function tryGuide(cli: AgentCli, place: ClientPlace, workspace: Workspace): Promise<string[]> {
  const heading = headings[cli.name];
  if (heading === undefined) return [];
  const commands = commandsOf(await readFile(join(root, 'docs/guide/clients.md'), 'utf8'), heading);
  const last = commands.pop();
  if (last === undefined) throw new Error(`docs/guide/clients.md has no commands below ${heading}`);
  const token = ['--agent', `guide-${cli.name}`, '--role', 'reader', '--out', join(place.home, 'rosa.token')];
  const issued = await workspace.run(['token', 'issue', ...token]);
  if (issued.code !== 0) throw new Error(`no token: ${issued.stderr}`);
  await workspace.run(['send', `guide-${cli.name}`, 'a body to read']);
  await using model = await startScriptedModel(steps);
  const { args, env } = await prepare(place, [cli.model(model.url, place.home)]);
  const command = join(place.temporary, 'signalbox');
  const words = [process.execPath, ...signalboxArgv([])].map(quoted).join(' ');
  await writeFile(command, `#!/bin/sh\nexec ${words} "$@"\n`);
  await chmod(command, 0o700);
  env.PATH = `${place.temporary}:${env.PATH}`;
  const problems: string[] = [];
  for (const { line, output } of commands) {
    const seen = plainLines(await runToEnd(['sh', '-c', line], place, env));
    if (!patternOf(output).test(seen))
      problems.push(`${line}: the guide shows\n${output}\nand it printed\n${seen}`);
  }
  const prompted = [...args, ...cli.prompt('Use the tools.')].map(quoted).join(' ');
  const said = await runToEnd(['sh', '-c', `${last.line} ${prompted}`], place, env);
  const results = readResults(steps, model);
  const read = { mcp_everything__echo: 'Echo: hello', signalbox_inbox_read: 'a body to read' };
  for (const [tool, expected] of Object.entries(read))
    if (!JSON.stringify(results[tool] ?? null).includes(expected))
      problems.push(
        `${last.line}: ${tool} returned ${JSON.stringify(results[tool])}, and it said ${said.slice(-2_000)}`,
      );
  return problems;
}

/** Reads the commands of the first console block below a heading. */
function commandsOf(page: string, heading: string): GuideCommand[] {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
  const block = /^```console\n(.*?)^```/ms.exec(section)?.[1] ?? '';
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [line = '', ...output] = text.trimEnd().split('\n');
      return { line, output: output.join('\n') };
    });
}

/** Leaves out colours, the differences of blanks, and empty lines. */
function plainLines(text: string): string {
  const lines = stripVTControlCharacters(text).split('\n');
  return lines
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

function patternOf(output: string): RegExp {
  const parts = plainLines(output)
    .split('…')
    .map((part) => part.trim().replace(/\W/gu, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
