import { nearestName } from '@signalbox/protocol/internal';
import type { Command, CommanderError } from 'commander';
import { connectionHeading } from './command-options.ts';

/** The fault of a refused command line, and what to do. */
interface Explanation {
  message: string;
  hint: string;
}

/** Words that people type where we have another one. Each leads to commands, or to commands of a group that has them. */
export const usualWords: Readonly<Record<string, readonly string[]>> = {
  add: ['token issue', 'issue', 'install'],
  all: ['agents', 'list'],
  chat: ['ask', 'send'],
  connect: ['worker mcp', 'worker run'],
  connections: ['agents'],
  create: ['init', 'token issue', 'issue', 'install'],
  cron: ['schedules'],
  delete: ['token revoke', 'dead drop', 'revoke', 'drop', 'uninstall'],
  describe: ['show', 'explain'],
  disable: ['uninstall', 'stop'],
  dlq: ['dead'],
  enable: ['install', 'start'],
  end: ['down', 'stop'],
  errors: ['dead', 'doctor'],
  events: ['tail'],
  exec: ['worker run', 'call'],
  exit: ['down'],
  failed: ['dead'],
  follow: ['tail'],
  get: ['show', 'result', 'read'],
  health: ['status', 'doctor'],
  import: ['init'],
  info: ['status', 'show'],
  inspect: ['show', 'explain'],
  invoke: ['tools call', 'call'],
  kill: ['down', 'hold', 'stop'],
  launch: ['up', 'start'],
  list: ['agents', 'tools list'],
  log: ['tail', 'history'],
  login: ['servers auth', 'dashboard', 'auth'],
  logs: ['tail', 'history'],
  ls: ['agents', 'tools list', 'list'],
  mail: ['inbox'],
  message: ['send', 'ask'],
  messages: ['inbox', 'history', 'tail'],
  monitor: ['tail', 'status'],
  new: ['init', 'token issue', 'issue'],
  open: ['dashboard'],
  pause: ['hold'],
  pending: ['approvals', 'inbox'],
  ping: ['status'],
  processes: ['agents'],
  publish: ['send'],
  queue: ['agents', 'inbox'],
  queues: ['agents', 'inbox'],
  quit: ['down'],
  read: ['inbox'],
  receive: ['inbox'],
  reject: ['deny'],
  remove: ['token revoke', 'dead drop', 'revoke', 'drop', 'uninstall'],
  replay: ['dead retry', 'retry'],
  reply: ['send'],
  requeue: ['dead retry', 'retry'],
  restart: ['servers reload', 'up', 'reload'],
  resume: ['release'],
  rm: ['token revoke', 'dead drop', 'revoke', 'drop', 'uninstall'],
  roles: ['tools explain', 'config check'],
  run: ['up', 'worker run', 'call'],
  serve: ['up', 'worker serve'],
  setup: ['init'],
  show: ['status', 'list'],
  shutdown: ['down'],
  start: ['up', 'servers start'],
  stop: ['down', 'hold', 'servers stop'],
  subscribe: ['worker serve', 'tail'],
  task: ['send'],
  tasks: ['inbox', 'tools calls'],
  threads: ['history'],
  ui: ['dashboard'],
  validate: ['config check', 'check'],
  watch: ['tail'],
  web: ['dashboard'],
};

/** Explains why commander refuses the line of a command. `path` is how the command is typed. */
export function explainWrongLine(
  { code, message }: CommanderError,
  command: Command,
  path: string,
): Explanation {
  const said = missingOf(code, command) ?? usageText(message);
  const help = `see: ${path} --help`;
  const word = /'([^']+)'/.exec(said)?.[1] ?? '';
  if (code === 'commander.unknownCommand') {
    const meant = meantCommands(word, command);
    const canShow = meant.length === 0 && command.commands.some((child) => child.name() === 'show');
    return {
      message: `${said}${didYouMean(meant)}`,
      hint: canShow ? `to see '${word}': ${path} show ${word}; ${help}` : help,
    };
  }
  if (code === 'commander.unknownOption') {
    const owner = ownerOf(word, command);
    if (owner)
      return { message: said, hint: `it goes after a command, as in: ${path} ${owner} ${word}; ${help}` };
    const meant = meantOptions(word, command);
    const cure = meant.length > 0 ? '' : 'an argument that begins with - goes last, after --; ';
    return { message: `${said}${didYouMean(meant)}`, hint: `${cure}${help}` };
  }
  return { message: said, hint: `${code === 'commander.excessArguments' ? excessCure(command) : ''}${help}` };
}

/** Names all that a line lacks, where commander names the first: options that are needed, and arguments. */
function missingOf(code: string, command: Command): string | undefined {
  if (code !== 'commander.missingArgument' && code !== 'commander.missingMandatoryOptionValue')
    return undefined;
  const words = [
    ...command.registeredArguments
      .filter(({ required }, at) => required && command.args[at] === undefined)
      .map((argument) => `argument '${argument.name()}'`),
    ...command.options
      .filter((option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined)
      .map(({ flags }) => `option '${flags}'`),
  ];
  if (words.length === 0) return undefined;
  return `${all.format(words)} ${words.length === 1 ? 'is' : 'are'} missing`;
}

/** Returns the commands that an unknown word probably means, as they are typed below `command`. */
function meantCommands(word: string, command: Command): string[] {
  const below = namesBelow(command);
  if (command.options.some(({ long }) => long === `--${word}`)) return [`--${word}`];
  const usual = (usualWords[word.toLowerCase()] ?? []).filter((name) => below.includes(name));
  if (usual.length > 0) return usual;
  const elsewhere = below.filter((name) => name.endsWith(` ${word}`));
  if (elsewhere.length > 0) return elsewhere.slice(0, 3);
  return nearest(word, below);
}

/** Lists the commands below one, as in `token` and `token issue`. */
function namesBelow(command: Command): string[] {
  return command.commands.flatMap((child) =>
    [child.name(), ...child.aliases()].flatMap((name) => [
      name,
      ...namesBelow(child).map((below) => `${name} ${below}`),
    ]),
  );
}

/** Returns a command below that has an option. */
function ownerOf(option: string, { commands }: Command): string | undefined {
  for (const child of commands) {
    if (child.options.some(({ short, long }) => short === option || long === option)) return child.name();
    const below = ownerOf(option, child);
    if (below !== undefined) return `${child.name()} ${below}`;
  }
  return undefined;
}

/** Returns the options that an unknown one probably means: of the command, and for a group of those below. */
function meantOptions(word: string, command: Command): string[] {
  const own = ownOptions(command);
  const known = [...new Set([...own, ...command.commands.flatMap(optionsBelow)])];
  const close = nearest(word, known);
  if (close.length > 0) return close;
  const start = word.startsWith('--') ? word : `-${word.toLowerCase()}`;
  const [longer = []] = [own, known]
    .map((names) => names.filter((name) => name.startsWith(start)))
    .filter((found) => found.length > 0);
  return longer.length > 3 ? [] : longer;
}

function optionsBelow(command: Command): string[] {
  return [...ownOptions(command), ...command.commands.flatMap(optionsBelow)];
}

function ownOptions(command: Command): string[] {
  const own = command.createHelp().visibleOptions(command);
  // Two names of one option are a short and a long one to commander, also where both are long.
  const names = own.flatMap(({ short, long }) => [short, long].filter((name) => name?.startsWith('--')));
  return names.flatMap((name) => name ?? []);
}

function nearest(word: string, known: readonly string[]): string[] {
  const name = nearestName(word, known);
  return name === undefined ? [] : [name];
}

const all = new Intl.ListFormat('en-GB', { type: 'conjunction' });
const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });

function didYouMean(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (did you mean ${either.format(names.map((name) => `'${name}'`))}?)`;
}

/** Says that a word is left out if it is one that people type for what a command does by itself. */
export function withoutUsualWord(word: string): string | undefined {
  return Object.hasOwn(usualWords, word.toLowerCase()) ? `leave out '${word}'` : undefined;
}

/** Says where further words go that a command does not take. */
function excessCure(command: Command): string {
  if (command.registeredArguments.length > 0)
    return 'quote a text of several words; after -- come arguments only, no options; ';
  const [first = ''] = command.args;
  const needless = withoutUsualWord(first);
  if (needless !== undefined) return `${needless}; `;
  const own = command.options.find(
    ({ long, helpGroupHeading }) =>
      long === '--of' || (long === '--agent' && helpGroupHeading !== connectionHeading),
  );
  if (own) return `if '${first}' is an agent, write ${own.long} ${first}; `;
  const actsAs = command.options.some(({ long }) => long === '--agent');
  return `it takes options only; ${actsAs ? `to act as the agent '${first}', write --agent ${first}; ` : ''}`;
}

/** Writes commander's message in our own form, on one line. */
function usageText(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean .*$/s, '')
    .replace(/^missing required (argument '.+')$/, '$1 is missing')
    .replace(/^required (option '.+') not specified$/, '$1 is missing')
    .replace(/^(option '.+') argument missing$/, '$1 has no value')
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.+)'\. /s,
      "argument '$2' can't be '$1'. ",
    );
}
