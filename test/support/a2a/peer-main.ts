import { existsSync, watch } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentCard, type Message, type Part, Role, Task, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';

/**
 * An agent of another system, made with the server of the official SDK. Usage: peer-main.ts FOLDER SETTINGS, with settings as JSON. It writes
 * each message that it runs to FOLDER/runs.jsonl, and its address to standard output.
 */
interface Settings {
  port?: number;
  /** Keeps its tasks in files. Else it forgets them when it dies. */
  keeps?: boolean;
  token?: string;
  binding?: 'JSONRPC' | 'HTTP+JSON';
  version?: '1.0' | '0.3';
  /** The version that its card names, in the form of 0.3. */
  named?: string;
  streaming?: boolean;
}

const [folder = '', text = '{}'] = process.argv.slice(2);
const settings = JSON.parse(text) as Settings;
const { port = 0, binding = 'JSONRPC', version = '1.0' } = settings;

const part = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: 'text/plain',
});

let said = 0;
function status(state: TaskState, words?: string) {
  const message: Message | undefined =
    words === undefined
      ? undefined
      : {
          ...{ messageId: `said-${process.pid}-${++said}`, contextId: '', taskId: '', role: Role.ROLE_AGENT },
          ...{ parts: [part(words)], metadata: undefined, extensions: [], referenceTaskIds: [] },
        };
  return { state, message, timestamp: new Date().toISOString() };
}

/** Resolves when the test lets the waiting tasks end. */
async function released(): Promise<void> {
  if (existsSync(join(folder, 'release'))) return;
  await new Promise<void>((resolve) => {
    const watcher = watch(folder, () => {
      if (!existsSync(join(folder, 'release'))) return;
      watcher.close();
      resolve();
    });
    if (existsSync(join(folder, 'release'))) resolve();
  });
}

const canceled = new Set<string>();

const executor: AgentExecutor = {
  async execute({ userMessage, taskId, contextId, task }: RequestContext, bus: ExecutionEventBus) {
    const content = userMessage.parts[0]?.content;
    const words = content?.$case === 'text' ? content.value : JSON.stringify(content?.value);
    const run = { text: words, messageId: userMessage.messageId, taskId, contextId };
    await appendFile(join(folder, 'runs.jsonl'), `${JSON.stringify(run)}\n`);
    const begun: Task = task ?? {
      ...{ id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [] },
      ...{ history: [userMessage], metadata: undefined },
    };
    const tell = (state: TaskState, said?: string) =>
      bus.publish(
        AgentEvent.statusUpdate({ taskId, contextId, status: status(state, said), metadata: undefined }),
      );
    bus.publish(AgentEvent.task(begun));
    tell(TaskState.TASK_STATE_WORKING, 'thinking');
    if (/^(wait|deaf)/.test(words)) await released();
    if (canceled.has(taskId)) return;
    if (words.startsWith('ask')) tell(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?');
    else if (words.startsWith('fail')) tell(TaskState.TASK_STATE_FAILED, 'the model is out of reach');
    else if (words.startsWith('reject')) tell(TaskState.TASK_STATE_REJECTED, 'not my business');
    else {
      const answer = task ? `${words} is sunny` : `heard: ${words}`;
      const link: Part = { ...part(''), content: { $case: 'url', value: 'http://127.0.0.1:9/secret' } };
      const parts = words.startsWith('link')
        ? [part(answer), link]
        : [part(words.startsWith('long') ? 'y'.repeat(400_000) : answer)];
      const pieces = words.startsWith('pieces') ? ['It rains ', '12', '.5', ' mm', ''].map(part) : [];
      for (const [at, list] of (pieces.length > 0 ? pieces.map((one) => [one]) : [parts]).entries()) {
        const about = { artifactId: 'a', name: '', description: '', metadata: undefined, extensions: [] };
        const artifact = { ...about, parts: list };
        bus.publish(
          AgentEvent.artifactUpdate({
            ...{ taskId, contextId, artifact, append: at > 0, metadata: undefined },
            lastChunk: at >= pieces.length - 1,
          }),
        );
      }
      tell(TaskState.TASK_STATE_COMPLETED);
    }
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    const { contextId, text: words } = (await runs()).findLast((run) => run.taskId === taskId)!;
    await appendFile(join(folder, 'canceled'), `${taskId}\n`);
    if (words!.startsWith('deaf')) return;
    canceled.add(taskId);
    const gone = status(TaskState.TASK_STATE_CANCELED);
    bus.publish(
      AgentEvent.statusUpdate({ taskId, contextId: contextId!, status: gone, metadata: undefined }),
    );
    bus.finished();
  },
};

async function runs(): Promise<Record<string, string>[]> {
  const lines = (await readFile(join(folder, 'runs.jsonl'), 'utf8')).trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** Keeps tasks in files beside those of the memory, and ends those that were interrupted. */
async function keepingStore(): Promise<TaskStore> {
  const memory = new InMemoryTaskStore();
  const directory = join(folder, 'tasks');
  await mkdir(directory, { recursive: true });
  const contexts: Parameters<TaskStore['save']>[1][] = [];
  const kept = new Map<string, Task>();
  for (const name of await readdir(directory))
    kept.set(name, Task.fromJSON(JSON.parse(await readFile(join(directory, name), 'utf8'))));
  const store: TaskStore = {
    async save(task, context) {
      contexts.push(context);
      // A kill leaves the old file or the new one.
      await writeFile(join(folder, task.id), JSON.stringify(Task.toJSON(task)));
      await rename(join(folder, task.id), join(directory, task.id));
      kept.set(task.id, task);
      await memory.save(task, context);
    },
    async load(id, context) {
      const task = kept.get(id);
      if (task) await memory.save(task, context);
      return await memory.load(id, context);
    },
    async list(query, context) {
      for (const task of kept.values()) await memory.save(task, context);
      return await memory.list(query, context);
    },
  };
  for (const task of kept.values()) {
    const { state = 0 } = task.status ?? {};
    if (![TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING].includes(state)) continue;
    void released().then(() => {
      const words = task.history[0]?.parts[0]?.content?.value as string;
      const artifact = { artifactId: 'a', name: '', description: '', metadata: undefined, extensions: [] };
      kept.set(task.id, {
        ...task,
        status: status(TaskState.TASK_STATE_COMPLETED),
        artifacts: [{ ...artifact, parts: [part(`heard: ${words}`)] }],
      });
    });
  }
  return store;
}

const app = express();
const server = app.listen(port, '127.0.0.1', async () => {
  const { port: own } = server.address() as { port: number };
  const url = `http://127.0.0.1:${own}/`;
  const card: AgentCard = {
    ...{ name: 'weather', description: 'tells the weather', version: '1', skills: [], signatures: [] },
    ...{ defaultInputModes: [], defaultOutputModes: [], securitySchemes: {}, securityRequirements: [] },
    provider: undefined,
    capabilities: {
      streaming: settings.streaming ?? true,
      pushNotifications: false,
      extensions: [],
      extendedAgentCard: false,
    },
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: version, tenant: '' }],
  };
  const store = settings.keeps ? await keepingStore() : new InMemoryTaskStore();
  const requestHandler = new DefaultRequestHandler(card, store, executor);
  const legacyCompat = { enabled: true };
  app.use((request, response, next) => {
    if (settings.token === undefined || request.headers.authorization === `Bearer ${settings.token}`) next();
    else response.status(401).send('<html>who are you?</html>');
  });
  if (settings.named !== undefined) {
    const { name, description, skills } = card;
    const old = { name, description, skills, url, version: '1', protocolVersion: settings.named };
    const modes = { defaultInputModes: [], defaultOutputModes: [], capabilities: { streaming: true } };
    app.get('/.well-known/agent-card.json', (_, response) => void response.json({ ...old, ...modes }));
  }
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
  );
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat };
  app.use(binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options));
  process.stdout.write(`${url}\n`);
});
