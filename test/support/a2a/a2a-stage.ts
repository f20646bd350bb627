import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BrokerClient, connectBroker, requestAddress } from '@signalbox/client';
import { issueToken } from '@signalbox/client/operator';
import { allProcesses } from '@signalbox/mcp-host/internal';
import { tempDir } from '@signalbox/testing';
import { type Daemon, startDaemon } from '../cli/command-line.ts';
import { type Run, startRun } from '../runner/worker-run.ts';
import { eventsOf } from '../serve/serve-command.ts';

/** The facts of a ready `signalbox up` with a bridge. */
interface Ready {
  broker: { pid: number; url: string };
  orchestrator: { pid: number };
  a2a: { pid: number; origin: string; agents: Record<string, string> };
}

/** `signalbox up` with a section `a2a`, and what runs beside it. */
export interface A2aStage extends AsyncDisposable {
  readonly directory: string;
  readonly up: Daemon;
  readonly ready: Ready;
  /** The configuration, with the section `a2a`. */
  readonly configuration: object;
  /** Returns the process that is a part of `up` now. */
  pidOf(part: 'broker' | 'a2a'): Promise<number>;
  /** Issues a token of an agent. */
  token(agent: string, role?: string): Promise<string>;
  /** Runs something as the operator. */
  asOperator<T>(act: (operator: BrokerClient) => Promise<T>): Promise<T>;
  /** Starts `signalbox a2a serve` by itself, for a stage whose `up` has none. `changes` replace keys of its section. */
  bridge(env?: Record<string, string>, changes?: object): Promise<Daemon>;
  /** Starts `signalbox worker serve` with a program that says which messages it was given, and does what they say. */
  serve(agent: string, options?: readonly string[]): Promise<Served>;
}

/** A served agent, and the messages for which its program was started. */
export interface Served extends AsyncDisposable {
  readonly run: Run;
  runs(): Promise<string[]>;
  /** Lets the messages that begin with `wait` end. */
  release(): Promise<void>;
}

/** The roles and agents of the stage; more agents are not listed. */
function configOf(a2a: object, more: object): object {
  return {
    broker: { listen: '127.0.0.1:0', data: './state' },
    roles: {
      outside: { tools: [], send: { to: ['rosa', 'ria', 'role:crew'], kinds: ['ask'] } },
      crew: { tools: [] },
      sender: { tools: [], send: { to: ['*'], kinds: ['note'] } },
    },
    a2a: {
      listen: '127.0.0.1:0',
      agents: {
        rosa: {
          description: 'answers questions',
          skills: [{ id: 'talk', name: 'Talk', description: 'says what it heard', tags: ['words'] }],
        },
        crew: { to: 'role:crew', name: 'The crew', description: 'one of them answers' },
        barred: { description: 'no role may ask it' },
      },
      roles: ['outside'],
      ...a2a,
    },
    ...more,
  };
}

/**
 * A message is the program's orders: `wait` waits until it is let go, `fail` fails, `length` tells how long the message is, `header` how it
 * came; anything else is answered at once.
 */
const program = (folder: string): string => `#!/bin/sh
q=$(cat)
printf '%s\\n' "$q" >> '${folder}/runs'
case "$q" in
  wait*) while [ ! -e '${folder}/release' ]; do sleep 0.05; done ;;
  fail*) echo 'no luck' >&2; exit 3 ;;
  header*) cat "$SIGNALBOX_MESSAGE_FILE"; exit 0 ;;
  length*) printf 'heard %s bytes' "$(printf '%s' "$q" | wc -c)"; exit 0 ;;
esac
printf 'heard: %s' "$q"
`;

/** Starts the stage. `a2a` and `more` replace keys of its configuration. `isAlone`: `up` starts no bridge. */
export async function startA2aStage({
  a2a = {},
  more = {},
  isAlone = false,
}: {
  a2a?: object;
  more?: object;
  isAlone?: boolean;
} = {}): Promise<A2aStage> {
  await using opened = new AsyncDisposableStack();
  const { path: directory } = opened.use(await tempDir());
  const config = configOf(a2a, more);
  const ofUp = isAlone ? { ...config, a2a: undefined } : config;
  await writeFile(join(directory, 'signalbox.yaml'), JSON.stringify(ofUp));
  const up = opened.use(
    await startDaemon(['up', '--config', 'signalbox.yaml', '--no-face'], { cwd: directory }),
  );
  const ready = up.ready as Ready;
  const asOperator: A2aStage['asOperator'] = async (act) => {
    const token = (await readFile(join(directory, 'state', 'operator.token'), 'utf8')).trim();
    await using operator = await connectBroker({
      url: ready.broker.url,
      token,
      agent: requestAddress('operator'),
    });
    return await act(operator);
  };
  const resources = opened.move();
  return {
    directory,
    up,
    ready,
    configuration: config,
    asOperator,
    async pidOf(part) {
      const processes = await allProcesses();
      const child = processes.find(({ parent, words }) => parent === up.pid && words.includes(part));
      if (!child) throw new Error(`no ${part} runs`);
      return child.pid;
    },
    token: (agent, role = 'outside') =>
      asOperator(async (operator) => (await issueToken(operator, { agent, role })).token),
    async bridge(env = {}, changes = {}) {
      await writeFile(join(directory, 'a2a.json'), JSON.stringify(configOf({ ...a2a, ...changes }, more)));
      return await startDaemon(['a2a', 'serve', '--config', 'a2a.json'], { cwd: directory, env });
    },
    async serve(agent, options = []) {
      const folder = join(directory, `serve-${agent}`);
      const runRoot = join(folder, 'run');
      await mkdir(runRoot, { recursive: true, mode: 0o700 });
      await writeFile(join(folder, 'program'), program(folder));
      await chmod(join(folder, 'program'), 0o755);
      const args = [
        '--agent',
        agent,
        '--role',
        'crew',
        '--concurrency',
        '8',
        '--retry-wait',
        '100ms',
        '--json',
      ];
      const config = ['--config', join(directory, 'signalbox.yaml')];
      const run = startRun([...args, ...config, ...options, '--', join(folder, 'program')], {
        cwd: folder,
        env: { HOME: folder, XDG_RUNTIME_DIR: runRoot, XDG_STATE_HOME: join(folder, 'state') },
        part: 'serve',
      });
      while (eventsOf(run, 'serving').length === 0) {
        const end = await Promise.race([run.ended, new Promise((resolve) => setTimeout(resolve, 20))]);
        if (end) throw new Error(`worker serve ended: ${run.stdout()}${run.stderr()}`);
      }
      return {
        run,
        async runs() {
          const file = join(folder, 'runs');
          return existsSync(file) ? (await readFile(file, 'utf8')).trimEnd().split('\n') : [];
        },
        release: () => writeFile(join(folder, 'release'), ''),
        [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
