import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { connectionHeading } from '../command-options.ts';
import { summaryOf } from '../help.ts';
import { createProgram } from '../program.ts';
import { exitCodeTexts } from '../terminal/exit-codes.ts';
import { type CompletedCommand, commandTree } from './command-tree.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const pages = [
  'README.md',
  'deploy/prometheus/alerts.yml',
  ...globSync('docs/{guide,reference}/*.md', { cwd: root }),
];

/** The command lines in the code of a page, without their comments. The guide also quotes two messages that begin like one. */
function commandLines(page: string): string[] {
  const text = readFileSync(`${root}${page}`, 'utf8');
  const blocks = [...text.matchAll(/^```(?:sh|console)\n(.*?)^```/gms)].map(([, block = '']) => block);
  const spans = [...text.replace(/^```.*?^```/gms, '').matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  return [...blocks.join('\n').replaceAll('\\\n', ' ').split('\n'), ...spans]
    .map((line) => line.replace(/\s+/g, ' ').replace(/ #.*/, ''))
    .flatMap((line) => /(?:^|[$(;&] ?)signalbox (?!in …|needs Node)([^;&)]*)/.exec(line)?.[1] ?? []);
}

/** Returns what a command line names that the program does not have. */
function unknownIn(line: string, program: CompletedCommand): string | undefined {
  const [own = ''] = line.split(' -- ');
  const words = own.split(' ').filter((word) => word !== '');
  let command = program;
  for (const word of words) {
    const next = command.commands.find(({ names }) => names.includes(word));
    if (!next && command.commands.length > 0 && /^[a-z]/.test(word)) return `${command.path} ${word}`;
    if (!next) break;
    command = next;
  }
  const known = new Set(command.options.flatMap(({ names }) => names));
  const option = words.map((word) => /^--[a-z\d-]+/.exec(word)?.[0]).find((name) => name && !known.has(name));
  return option === undefined ? undefined : `${command.path} ${option}`;
}

test('Every command and option that the guide, the README and the alerts name is there.', async () => {
  const program = commandTree(await createProgram());
  const lines = pages.flatMap((page) => commandLines(page).map((line) => ({ page, line })));
  expect(lines.length).toBeGreaterThan(100);
  const unknown = lines.flatMap(({ page, line }) => {
    const name = unknownIn(line, program);
    return name === undefined ? [] : [`${page}: ${name}`];
  });
  expect(unknown).toEqual([]);
});

/** Writes a row for each command that does something, without the options that most commands have. */
function rowsOf(command: Command, path: string): string[] {
  const options = command.options
    .filter(({ long, helpGroupHeading }) => long !== '--json' && helpGroupHeading !== connectionHeading)
    .map(({ flags }) => `\`${flags}\``);
  const term = command.createHelp().subcommandTerm(command).replace(/^\S+/, path);
  const row = `| \`${term}\` | ${summaryOf(command)} | ${options.join(', ')} |`;
  const below = command.commands.flatMap((child) => rowsOf(child, `${path} ${child.name()}`));
  return below.length > 0 && command.registeredArguments.length + options.length === 0
    ? below
    : [row, ...below];
}

/** Writes the reference page. */
function referencePage({ commands }: Command): string {
  const groups = [...Map.groupBy(commands, (command) => command.helpGroup())].map(
    ([heading, members]) => `## ${heading.replace(':', '')}

| command | what it does | options |
| --- | --- | --- |
${members.flatMap((command) => rowsOf(command, `signalbox ${command.name()}`)).join('\n')}
`,
  );
  return `# The commands

The help of a command says more, and lists the options that name the broker and the identity. A test writes this page:
\`npx vitest run apps/cli/src/completion/documented-commands.test.ts -u\`.

| exit code | meaning |
| --- | --- |
${exitCodeTexts.map(([code, text]) => `| ${code} | ${text} |`).join('\n')}

${groups.join('\n')}`;
}

test('The reference page has every command, in the groups of the help.', async () => {
  const page = referencePage(await createProgram());
  expect(page).toContain('## You decide');
  await expect(page).toMatchFileSnapshot(`${root}docs/commands.md`);
});
