import { basename } from 'node:path';
import type { StartObstacle } from './start-failure.ts';

/** The facts of a failed start. */
export interface FailedStart {
  obstacle: StartObstacle;
  command: string;
  args: readonly string[];
  cwd: string | undefined;
  /** The variables that the server got. */
  environment: Readonly<Record<string, string>>;
  /** The names of variables that it did not get because they hold secrets. */
  withheld: readonly string[];
  /** The words of the command line of each of its processes. */
  processes: readonly (readonly string[])[];
  stderrTail: string;
}

/** A program that downloads the server before it runs it, and the variables with which it reaches its source. */
interface Downloader {
  programs: readonly string[];
  /** The step that may take long, as a verb with its object. */
  doing: string;
  /** Each item is a variable with its alternatives. */
  variables: readonly (readonly string[])[];
}

const proxies = ['HTTPS_PROXY', 'ALL_PROXY', 'HTTP_PROXY'];

const downloaders: readonly Downloader[] = [
  {
    programs: ['npx', 'npm', 'pnpm', 'pnpx', 'yarn', 'bunx', 'bun'],
    doing: 'download the package from its registry',
    variables: [
      ['npm_config_registry'],
      [...proxies, 'npm_config_https_proxy', 'npm_config_proxy'],
      ['NODE_EXTRA_CA_CERTS', 'npm_config_cafile'],
    ],
  },
  {
    programs: ['uvx', 'uv'],
    doing: 'download the package from its index',
    variables: [['UV_DEFAULT_INDEX', 'UV_INDEX_URL'], proxies, ['SSL_CERT_FILE', 'UV_NATIVE_TLS']],
  },
  {
    programs: ['pipx', 'pip', 'pip3', 'poetry'],
    doing: 'download the package from its index',
    variables: [['PIP_INDEX_URL'], [...proxies, 'PIP_PROXY'], ['PIP_CERT', 'REQUESTS_CA_BUNDLE']],
  },
  {
    programs: ['docker', 'podman'],
    doing: 'pull the image; the proxy and the certificate authorities are those of its daemon',
    variables: [['DOCKER_HOST', 'CONTAINER_HOST', 'DOCKER_CONTEXT']],
  },
];

/** Texts by which programs report that they can't reach or don't trust a host. */
const networkTrouble =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|E407|SELF_SIGNED[A-Z_]*|UNABLE_TO_[A-Z_]+|CERT_[A-Z_]+)\b|certificate|network|proxy/i;

/** The folder of npx in which Node finds no module that belongs there. npx takes such a folder for whole, and never mends it. */
const unfinishedCopy = /Cannot find (?:module|package) [\s\S]{0,300}?(\/[^\s'"]*\/_npx\/[0-9a-f]+)\//;

/** Returns the probable causes that kept a server from starting, and what to do about them; one claim per item. */
export function startAdvice(start: FailedStart): string[] {
  const { obstacle, command, cwd, stderrTail } = start;
  switch (obstacle) {
    case 'no_command':
      return missingCommand(start);
    case 'no_interpreter':
      return [
        `the file ${command} is there, but the program that its first line names is not: install that program`,
      ];
    case 'not_executable':
      return [`nobody may execute ${command}, or it is a directory: chmod +x makes a file a program`];
    case 'no_directory':
      return [`its working directory ${cwd} is not there: create it, or change cwd`];
    case 'timed_out':
      return slowStart(start);
    case 'ended': {
      if (stderrTail.trim() === '') return [endedSilently];
      const copy = unfinishedCopy.exec(stderrTail)?.[1];
      if (copy !== undefined) {
        return [
          `npx keeps an unfinished copy of the package, as a download that was cut off leaves it: remove ${copy}, and reload the server`,
        ];
      }
      const downloader = downloaderOf(start);
      return downloader && networkTrouble.test(stderrTail) ? networkAdvice(downloader, start) : [];
    }
    case 'other':
      return [];
  }
}

const endedSilently =
  'it ended and wrote nothing on standard error: run the command by hand; an MCP server runs until its standard input is closed';

function missingCommand({ command, args, environment }: FailedStart): string[] {
  if (args.length === 0 && /\s/.test(command)) {
    return [
      'its command holds blanks: command names the program alone, and the other words belong under args',
    ];
  }
  if (/[\\/]/.test(command)) return [`there is no file ${command}: correct command, or install the program`];
  return [
    `no folder of PATH has a program '${command}': install it, name it by its absolute path, or set PATH where the orchestrator is started`,
    `PATH is ${environment.PATH ?? 'not set'}`,
  ];
}

function slowStart(start: FailedStart): string[] {
  const downloader = downloaderOf(start);
  if (!downloader) {
    return [
      'it runs, but it has not answered as an MCP server on standard input and output: look at its arguments and at its standard error',
      'if it only takes long, raise startTimeoutMs of the server',
    ];
  }
  const { program, doing } = downloader;
  return [
    `${program} may still ${doing}: run the command by hand once to see how far it gets, or raise startTimeoutMs of the server`,
    ...networkAdvice(downloader, start),
  ];
}

function networkAdvice(
  { program, variables }: Downloader & { program: string },
  { environment, withheld }: FailedStart,
): string[] {
  const wanted = variables.flat().map((name) => name.toLowerCase());
  const among = (names: readonly string[]) => names.filter((name) => wanted.includes(name.toLowerCase()));
  const given = among(Object.keys(environment).filter((name) => environment[name] !== ''));
  const kept = among(withheld);
  const known = new Set([...given, ...kept].map((name) => name.toLowerCase()));
  const missing = variables.filter(
    (alternatives) => !alternatives.some((name) => known.has(name.toLowerCase())),
  );
  const has = given.length > 0 ? `it got ${given.join(', ')}` : 'it got none of its variables';
  const lacks = missing.map((alternatives) => alternatives[0]).join(', ');
  return [
    `the network that ${program} needs is set by variables: ${has}${lacks === '' ? '' : `; not set: ${lacks}`}`,
    ...kept.map((name) => `${name} holds a secret and was not handed on: add it to inheritEnv of the server`),
  ];
}

/** Finds the program that downloads the server: the command itself, or a process that it has started. */
function downloaderOf({
  command,
  args,
  processes,
}: FailedStart): (Downloader & { program: string }) | undefined {
  const words = [
    command,
    ...args.filter((arg) => !arg.startsWith('-')),
    ...processes.flatMap((line) => line.slice(0, 2)),
  ];
  for (const word of words) {
    const program = basename(word)
      .replace(/\.(c?js|mjs|cmd|exe)$|-cli\.js$/, '')
      .split(' ', 1)[0]!;
    const found = downloaders.find(({ programs }) => programs.includes(program));
    if (found) return { ...found, program };
  }
  return undefined;
}
