import type { BrokerClient } from '@signalbox/client';
import {
  type AdminResult,
  isOperator,
  isPermitted,
  type Message,
  operationPermissions,
  permissionsOfRole,
} from '@signalbox/protocol';

/** An agent in whose own inbox messages wait. Times are epoch milliseconds of the broker's clock. */
export type WaitingAgent = AdminResult<'waiting'>['agents'][number];

const lookedAtOnce = 500;

/** Selects agents with mail: those that are connected or those that are not, those with a token of one role, and at most `limit`. */
export interface WaitingQuery {
  connected?: boolean;
  role?: string;
  limit: number;
}

/** Lists agents and groups that have mail, by name. `more` says whether there may be others beyond the limit. */
export async function listWaiting(
  client: BrokerClient,
  { connected, limit, role }: WaitingQuery,
): Promise<{ agents: WaitingAgent[]; more: boolean }> {
  const agents: WaitingAgent[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.admin('waiting', { connected, limit: lookedAtOnce, cursor });
    agents.push(...page.agents.filter(({ roles }) => role === undefined || roles.includes(role)));
    cursor = page.cursor;
    if (agents.length > limit) return { agents: agents.slice(0, limit), more: true };
    if (cursor === undefined) return { agents, more: false };
  }
}

/** Lists agents that are not connected and have mail, and groups, as {@link listWaiting}. */
export async function listOfflineWithMail(
  client: BrokerClient,
  query: Omit<WaitingQuery, 'connected'>,
): Promise<{ agents: WaitingAgent[]; more: boolean }> {
  return await listWaiting(client, { ...query, connected: false });
}

/** The kinds of messages whose senders wait for an answer of an agent or a person. */
export const questionKinds: ReadonlySet<string> = new Set(['ask', 'task']);

/** The questions that wait for an operator. `own`: the one who looks. */
export interface WaitingQuestions {
  asked: string;
  waiting: number;
  own: boolean;
}

/** The most other operators whose mail is read, the most messages of each, and the pages in which they are read: large ones make a page short. */
const most = { people: 8, mail: 500, pages: 10 };

/** Counts the questions to operators in the mail that {@link readOperatorMail} reads; operators without one are left out. */
export async function countQuestions(
  client: BrokerClient,
  agents: Iterable<string>,
): Promise<WaitingQuestions[]> {
  const people = await readOperatorMail(client, agents);
  return people.flatMap(({ agent: asked, mail }) => {
    const waiting = mail.filter(({ kind }) => questionKinds.has(kind)).length;
    return waiting === 0 ? [] : [{ asked, waiting, own: asked === client.agent }];
  });
}

/**
 * Reads the mail of the client's own agent and, for operators, of those of the agents that are operators, without bodies: any of them may
 * answer it.
 */
export async function readOperatorMail(
  client: BrokerClient,
  agents: Iterable<string>,
): Promise<{ agent: string; mail: Message[] }[]> {
  const maySee = isPermitted(operationPermissions.frame.peek, permissionsOfRole(client.role));
  const others = maySee ? [...new Set(agents)].filter((one) => one !== client.agent && isOperator(one)) : [];
  const people = [client.agent, ...others.slice(0, most.people)];
  return await Promise.all(people.map(async (agent) => ({ agent, mail: await readMail(client, agent) })));
}

async function readMail(client: BrokerClient, agent: string): Promise<Message[]> {
  const mail: Message[] = [];
  for (let pages = 0; pages < most.pages && mail.length < most.mail; pages++) {
    const after = mail.at(-1)?.seq ?? 0;
    const found = await client.peek({ address: agent, after, limit: most.mail - mail.length, bodies: false });
    if (found.length === 0) return mail;
    mail.push(...found);
  }
  return mail;
}
