import type {
  AgentSummary,
  BrokerStats,
  ClockHold,
  DeadLetter,
  ListedToken,
  OrchestratorStatus,
  WebhookReport,
} from '@signalbox/client/operator';
import {
  hostProblems,
  isDiskNearlyFull,
  isNotableLeap,
  isRenewedByHand,
  isStoreNearlyFull,
  serverFailure,
} from '@signalbox/client/operator/internal';
import type {
  Approval,
  CallRecord,
  DefinitionReport,
  DefinitionsReply,
  Hold,
  ServerReport,
} from '@signalbox/protocol';
import { holdSubject } from '@signalbox/protocol/internal';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { endsSoon } from '@signalbox/serving';

/** A remedy for an item that needs one click: a command of the API with its parameters. */
export interface AttentionAction {
  label: string;
  command: string;
  params: Record<string, unknown>;
  /** The question that is asked before the command runs. Without it, the command runs at once. */
  question?: string;
}

/** One thing that needs a person's attention. The texts may hold names that others chose. */
export interface AttentionItem {
  /** Stays the same while the item is about the same thing. */
  id: string;
  /** `now`: something does not work, or somebody waits. `soon`: that is about to happen, or it is worth a look. */
  level: 'now' | 'soon';
  /** The name of the agent, the server or other thing that the item is about. */
  who: string;
  what: string;
  /** The time of its beginning in epoch milliseconds. Absent if unknown. */
  since?: number;
  /** The view that shows more, as the part of the page's address behind `#`. */
  link: string;
  /**
   * A question that an operator can answer here: the inbox of who was asked, its sequence number there, and until when it can be answered, in
   * epoch milliseconds. `isOwn`: the person who looks was asked, whose reading is no look into the mail of somebody else.
   */
  question?: { inbox: string; seq: number; isOwn: boolean; until?: number };
  /** True if something fails whose cause stands behind the link: a person should see that before the action. */
  isFailure?: true;
  /** Absent if a look is enough, or nothing can be done here. */
  action?: AttentionAction;
  /** The definitions that an acceptance shows to agents, each with its differences from the pinned one. */
  definitions?: readonly DefinitionReport[];
  /** The call that waits for a decision. Long arguments are cut, and observers are shown none. */
  approval?: Approval;
}

/** A message in the inbox of an operator. */
export interface OperatorMail {
  seq?: number | undefined;
  id: string;
  kind: string;
  thread?: string | undefined;
  from: { agent: string };
  created_at?: number;
  remaining_ms?: number | undefined;
}

/** The facts from which the list of items is made. Times are epoch milliseconds. */
export interface AttentionFacts {
  broker: BrokerStats;
  hold: ClockHold | undefined;
  agents: readonly AgentSummary[];
  deadLetters: { messages: readonly DeadLetter[]; more: boolean };
  tokens: readonly ListedToken[];
  hooks: readonly WebhookReport[];
  /** Warnings about tokens whose role the configuration does not list. */
  stranded: readonly string[];
  orchestrator: OrchestratorStatus;
  /** Absent if the orchestrator did not answer. */
  calls?: readonly CallRecord[];
  /** The calls that wait for a decision. Absent if the orchestrator did not answer. */
  approvals?: readonly Approval[];
  holds: readonly Hold[];
  /** The definitions of pinned servers that are withheld. Absent if there are none, or the orchestrator did not answer. */
  withheld?: DefinitionsReply;
  /** The agent of the person who looks. */
  own: string;
  /** Operators, with the mail in their inboxes as far as the person may see it. */
  people: readonly { agent: string; mail: readonly OperatorMail[] }[];
}

const minute = 60_000;

/** The most waiting calls, and the most questions, that are listed one by one. */
const [shownApprovals, shownQuestions] = [25, 25];

/** The times beyond which a thing takes too long, in milliseconds. */
export const attentionLimits = {
  mailMs: 10 * minute,
  callMs: 10 * minute,
  turnMs: 30 * minute,
  unknownOutcomeMs: 60 * minute,
  budgetMs: 60 * minute,
} as const;

/**
 * Lists the items that need a person: first the calls that wait for a decision, the next deadline first, then the things that do not work,
 * then those that can wait, each with the oldest first.
 */
export function attentionOf(facts: AttentionFacts, now: number): AttentionItem[] {
  const others = [
    ...questionItems(facts, now),
    ...facts.holds.map(holdItem),
    ...orchestratorItems(facts.orchestrator),
    ...facts.orchestrator.servers.flatMap(serverItem),
    ...withheldItems(facts.withheld),
    ...spaceItems(facts.broker),
    ...clockItems(facts.hold),
    ...facts.agents.flatMap((agent) => agentItems(withoutQuestions(agent, facts), now)),
    ...facts.agents.flatMap((agent) => turnItems(agent, now)),
    ...(facts.calls ?? []).flatMap((call) => runningItem(call, now)),
    ...budgetItems(facts.calls ?? [], now),
    ...unknownOutcomes(facts.calls ?? [], now),
    ...deadLetterItems(facts.deadLetters, facts.broker),
    ...facts.tokens.flatMap((token) => tokenItem(token, now)),
    ...facts.hooks.flatMap((hook) => hookItem(hook, now)),
    ...facts.stranded.map(strandedItem),
  ];
  const rank = ({ level }: AttentionItem): number => (level === 'now' ? 0 : 1);
  const age = ({ since }: AttentionItem): number => since ?? 0;
  others.sort((a, b) => rank(a) - rank(b) || age(a) - age(b));
  return [...approvalItems(facts.approvals ?? []), ...others];
}

function approvalItems(approvals: readonly Approval[]): AttentionItem[] {
  const ranked = approvals.toSorted((a, b) => a.deadline_at - b.deadline_at);
  const items = ranked.slice(0, shownApprovals).map(
    (approval): AttentionItem => ({
      id: `approval ${approval.id}`,
      level: 'now',
      who: approval.agent,
      what: `wants to call ${toolLabel(approval)}, and waits for a decision.`,
      since: approval.created_at,
      link: `/approvals?id=${encodeURIComponent(approval.id)}`,
      approval,
    }),
  );
  const more = ranked.length - items.length;
  if (more === 0) return items;
  const what = `${counted(more, 'other call')} wait${more === 1 ? 's' : ''} for a decision.`;
  return [...items, { id: 'approvals', level: 'now', who: 'approvals', what, link: '/approvals' }];
}

/** The kinds of messages that ask for an answer, with what their senders do. */
const questions: Readonly<Record<string, (whom: string) => string>> = {
  ask: (whom) => `asks ${whom} something, and waits.`,
  task: (whom) => `gives ${whom} a task, and waits for its result.`,
};

function questionItems(
  { own, people }: Pick<AttentionFacts, 'own' | 'people'>,
  now: number,
): AttentionItem[] {
  const asked = people.flatMap(({ agent, mail }) =>
    mail.flatMap(({ seq, ...one }) => (seq === undefined ? [] : [{ ...one, seq, inbox: agent }])),
  );
  const waiting = asked
    .filter(({ kind }) => Object.hasOwn(questions, kind))
    .sort((a, b) => (a.created_at ?? 0) - (b.created_at ?? 0));
  const items = waiting.slice(0, shownQuestions).map(
    ({
      inbox,
      seq,
      id,
      kind,
      from,
      thread = id,
      created_at: since,
      remaining_ms: leftMs,
    }): AttentionItem => ({
      id: `question ${inbox} ${seq}`,
      level: 'now',
      who: from.agent,
      what: questions[kind]!(inbox === own ? 'you' : inbox),
      ...(since !== undefined && { since }),
      link: `/conversations?thread=${encodeURIComponent(thread)}`,
      question: { inbox, seq, isOwn: inbox === own, ...(leftMs !== undefined && { until: now + leftMs }) },
    }),
  );
  const more = waiting.length - items.length;
  if (more === 0) return items;
  const what = `${counted(more, 'other question')} wait${more === 1 ? 's' : ''} for an answer; signalbox inbox lists them.`;
  return [...items, { id: 'questions', level: 'now', who: 'questions', what, link: '/conversations' }];
}

/** Removes the messages that {@link questionItems} lists from the mail of an operator. */
function withoutQuestions(agent: AgentSummary, { people }: Pick<AttentionFacts, 'people'>): AgentSummary {
  const mail = people.find((one) => one.agent === agent.agent)?.mail ?? [];
  const asked = mail.filter(({ kind }) => Object.hasOwn(questions, kind)).length;
  if (asked === 0 || !agent.mail) return agent;
  return { ...agent, mail: { ...agent.mail, unread: Math.max(0, agent.mail.unread - asked) } };
}

const heldText: Readonly<Record<Hold['on'], string>> = {
  all: 'All agents and all tools are',
  agent: 'This agent is',
  role: 'The agents in this role are',
  tool: 'Calls of these tools are',
};

function holdItem(hold: Hold): AttentionItem {
  const { id, by, reason, created_at: since, on, name = '', damaged } = hold;
  return {
    id: `hold ${id}`,
    level: damaged || on === 'all' ? 'now' : 'soon',
    who: on === 'all' ? 'everything' : name,
    what: damaged
      ? 'A hold whose record is damaged counts as a hold on everything until it is released.'
      : `${heldText[on]} held by ${by}: ${reason}`,
    ...(!damaged && { since }),
    link: on === 'agent' ? `/agents?agent=${encodeURIComponent(name)}` : '/agents',
    action: {
      label: 'Release',
      command: 'holds/release',
      params: { ids: [id] },
      question: `Release ${holdSubject(hold)}?`,
    },
  };
}

function orchestratorItems({
  name,
  state,
  reason,
  hosts = [],
  config_problem,
  restart_needed,
}: OrchestratorStatus): AttentionItem[] {
  if (config_problem) {
    const { since, reason } = config_problem;
    const what = `The configuration has mistakes, and what was in force before stays: ${reason}`;
    return [{ id: 'configuration', level: 'now', who: 'configuration', what, since, link: '/system' }];
  }
  if (state === 'ready') {
    const waiting: AttentionItem[] = restart_needed
      ? [
          {
            id: 'restart',
            level: 'soon',
            who: 'configuration',
            what: `Changes of the configuration wait for a restart: ${restart_needed.keys.join(', ')}`,
            since: restart_needed.since,
            link: '/system',
          },
        ]
      : [];
    const away = hosts.flatMap((one) =>
      hostProblems(one).map((what, at) => ({
        id: `host ${one.host} ${at}`,
        level: 'soon' as const,
        who: one.host,
        what,
        link: '/servers',
      })),
    );
    return [...waiting, ...away];
  }
  const what =
    state === 'silent'
      ? `The orchestrator is connected and does not answer: ${reason}`
      : 'No orchestrator is connected, so that no tool can be called.';
  return [{ id: 'orchestrator', level: 'now', who: name, what, link: '/servers' }];
}

/** The states in which a server does not work as it should, with a text, and `reload` if starting it again may help. */
const troubles: Partial<Record<ServerReport['state'], { what: string; reload: boolean }>> = {
  backing_off: { what: 'The server failed and will be started again.', reload: true },
  ejected: { what: 'The server kept failing and is not started again by itself.', reload: true },
  refused: { what: 'The server is a worker of Signalbox and is not served.', reload: false },
  needs_auth: { what: 'Somebody has to sign in to the server.', reload: false },
};

function serverItem(server: ServerReport): AttentionItem[] {
  const { name, state, circuit, tool_problems } = server;
  const failure = serverFailure(server);
  const about = { who: name, link: `/servers?server=${encodeURIComponent(name)}` };
  const error = failure === undefined ? '' : ` Last error: ${failure}`;
  const reload = { label: 'Reload', command: 'servers/reload', params: { server: name } };
  const trouble = troubles[state];
  if (trouble) {
    const what = `${trouble.what}${error}`;
    return [
      {
        id: `server ${name}`,
        level: 'now',
        what,
        ...about,
        ...(trouble.reload && { isFailure: true, action: reload }),
      },
    ];
  }
  if (circuit === 'open') {
    const what = `The server gets no calls, because too many of them failed.${error}`;
    return [{ id: `server ${name}`, level: 'now', what, ...about, isFailure: true, action: reload }];
  }
  const problems = tool_problems.filter(({ withheld, mended }) => !withheld && !mended);
  if (problems.length === 0) return [];
  const [first] = problems;
  const example = `${first?.tool === undefined ? '' : `${first.tool}: `}${first?.message}`;
  const what = `${counted(problems.length, 'tool')} left out, or not shown as the server describes: ${example}`;
  return [{ id: `tools ${name}`, level: 'soon', what, ...about }];
}

/** The most definitions of one server that are shown with their differences. */
const shownDefinitions = 20;

function withheldItems(withheld: DefinitionsReply | undefined): AttentionItem[] {
  if (!withheld) return [];
  const byServer = Map.groupBy(withheld.definitions, ({ server }) => server);
  return withheld.servers.flatMap(({ server, withheld: count, seen }): AttentionItem[] => {
    const definitions = byServer.get(server) ?? [];
    if (count === 0) return [];
    const changed = definitions.filter(({ state }) => state === 'changed').length;
    const what =
      changed > 0
        ? `The server has changed ${counted(count, 'definition')}, which are withheld from agents until you accept them.`
        : `The server lists ${counted(count, 'new definition')}, withheld from agents until you accept them.`;
    // A person may accept definitions only where all of their differences are shown.
    const isShown = seen !== undefined && count <= shownDefinitions;
    return [
      {
        id: `definitions of ${server}`,
        level: changed > 0 ? 'now' : 'soon',
        who: server,
        what: isShown ? what : `${what} signalbox servers diff ${server} shows all of them.`,
        link: `/servers?server=${encodeURIComponent(server)}`,
        definitions: definitions.slice(0, shownDefinitions),
        ...(isShown && {
          action: {
            label: 'Accept',
            command: 'definitions/accept',
            params: { server, seen },
            question: `Show agents what ${server} says now?`,
          },
        }),
      },
    ];
  });
}

function spaceItems(stats: BrokerStats): AttentionItem[] {
  const items: AttentionItem[] = [];
  const about = { level: 'now', link: '/system' } as const;
  if (isStoreNearlyFull(stats)) {
    const percent = Math.floor((100 * stats.used_bytes) / stats.max_bytes);
    const what = `The store is ${percent} % full. When it is full, messages are refused.`;
    items.push({ id: 'store', who: 'store', what, ...about });
  }
  if (isDiskNearlyFull(stats)) {
    const what = 'The disk of the data directory is nearly full.';
    items.push({ id: 'disk', who: 'disk', what, ...about });
  }
  return items;
}

function clockItems(hold: ClockHold | undefined): AttentionItem[] {
  if (!isNotableLeap(hold)) return [];
  const what = `The clock leapt, and the broker does not trust it yet. It holds back ${hold.requests + hold.messages} messages.`;
  const action = { label: 'Trust the clock', command: 'clock/accept', params: {} };
  return [{ id: 'clock', level: 'now', who: 'clock', what, since: hold.to, link: '/system', action }];
}

function agentItems(agent: AgentSummary, now: number): AttentionItem[] {
  const { agent: who, state, roles, failing, failed, oldest_at: since } = agent;
  const mail = withoutWork(agent);
  const link = `/agents?agent=${encodeURIComponent(who)}`;
  if (state === 'tools_lost') {
    const what = 'The agent lost its tools, and goes on without them.';
    return [{ id: `tools of ${who}`, level: 'now', who, what, link }];
  }
  if (failing) {
    const what = `Its program fails on every message, and its mail waits: ${failing.reason}`;
    return [{ id: `program of ${who}`, level: 'now', who, what, since: failing.since, link }];
  }
  if (failed) {
    const unread = mail && mail.unread > 0 ? ` ${counted(mail.unread, 'message')} unread.` : '';
    const what = `Its program ${failed.reason}.${unread}`;
    return [
      { id: `program of ${who}`, level: unread === '' ? 'soon' : 'now', who, what, since: failed.at, link },
    ];
  }
  const isPerson = roles.includes('operator');
  // A person reads mail only after being told about it.
  const patienceMs = isPerson ? 0 : attentionLimits.mailMs;
  if (since === undefined || !mail || mail.unread === 0 || now - since < patienceMs) return [];
  const messages = `${counted(mail.unread, 'message')}`;
  const what = isPerson
    ? `${messages} for a person; signalbox inbox shows what.`
    : ({
        offline: `${messages} unread, and the agent is not connected.`,
        group: `${messages} that no member has taken.`,
      }[state as string] ?? `${messages} unread by an agent that is connected.`);
  const level = isPerson || state !== 'offline' ? 'now' : 'soon';
  return [{ id: `mail of ${who}`, level, who, what, since, link }];
}

/** Returns the mail of an agent without the messages of its calls or turns, which are items of their own when they take too long. */
function withoutWork({ mail, roles, turns = [] }: AgentSummary): AgentSummary['mail'] {
  if (!mail || (turns.length === 0 && !roles.includes('orchestrator'))) return mail;
  return { ...mail, unread: Math.max(0, mail.unread - (mail.held ?? 0)) };
}

/** Makes one item for all turns of an agent, which announces them itself. */
function turnItems({ agent: who, turns = [], mail }: AgentSummary, now: number): AttentionItem[] {
  const long = turns.filter(({ since }) => now - since >= attentionLimits.turnMs);
  const [oldest] = long.sort((a, b) => a.since - b.since);
  if (!oldest) return [];
  const { from, kind, since } = oldest;
  const works = long.length === 1 ? 'A turn works' : `${long.length} turns work, the oldest`;
  const ended = long.length === 1 ? ' and has not ended' : ', and have not ended';
  return [
    {
      id: `turns of ${who}`,
      level: 'now',
      who,
      what: `${works} on the ${kind} of ${from}${ended}; ${counted(mail?.unread ?? 0, 'message')} unread.`,
      since,
      link: `/agents?agent=${encodeURIComponent(who)}`,
    },
  ];
}

function runningItem(call: CallRecord, now: number): AttentionItem[] {
  const { request_id: id, agent: who, state, started_at, received_at } = call;
  const since = started_at ?? received_at;
  if (state === 'finished' || now - since < attentionLimits.callMs) return [];
  const tool = toolLabel(call);
  const what = state === 'running' ? `${tool} runs and has no result.` : `${tool} waits for its turn.`;
  return [
    { id: `call ${id}`, level: 'now', who, what, since, link: `/timeline?id=${encodeURIComponent(id)}` },
  ];
}

function budgetItems(calls: readonly CallRecord[], now: number): AttentionItem[] {
  const refused = calls.filter(
    ({ outcome, finished_at = 0 }) =>
      outcome === 'quota_exceeded' && now - finished_at < attentionLimits.budgetMs,
  );
  return [...Map.groupBy(refused, ({ agent }) => agent)].map(([who, of]) => ({
    id: `budget of ${who}`,
    level: 'soon',
    who,
    what: `used up its budget or its room: ${counted(of.length, 'call')} refused.`,
    since: Math.min(...of.map(({ finished_at = now }) => finished_at)),
    link: `/calls?outcome=quota_exceeded&filter=${encodeURIComponent(who)}`,
  }));
}

function unknownOutcomes(calls: readonly CallRecord[], now: number): AttentionItem[] {
  const unknown = calls.filter(
    ({ outcome, finished_at = 0 }) =>
      outcome === 'outcome_unknown' && now - finished_at < attentionLimits.unknownOutcomeMs,
  );
  return [...Map.groupBy(unknown, toolLabel)].map(([tool, of]) => ({
    id: `unknown ${tool}`,
    level: 'now',
    who: tool,
    what: `${counted(of.length, 'call')} may have run, and nobody knows: look whether they took effect.`,
    since: Math.min(...of.map(({ finished_at = now }) => finished_at)),
    link: `/calls?outcome=outcome_unknown`,
  }));
}

function deadLetterItems(
  { messages, more }: AttentionFacts['deadLetters'],
  { dead_letters }: BrokerStats,
): AttentionItem[] {
  if (more) {
    const what = `${counted(dead_letters, 'message')} given up, for several reasons.`;
    return [{ id: 'dead letters', level: 'soon', who: 'dead letters', what, link: '/dead' }];
  }
  const groups = Map.groupBy(messages, ({ inbox, reason }) => JSON.stringify([inbox, reason]));
  return [...groups].map(([key, of]) => {
    const { inbox, reason } = of[0]!;
    return {
      id: `dead ${key}`,
      level: 'soon',
      who: inbox,
      what: `${counted(of.length, 'message')} given up: ${reason}`,
      since: Math.min(...of.map(({ dead_at }) => dead_at)),
      link: `/dead?inbox=${encodeURIComponent(inbox)}&reason=${encodeURIComponent(reason)}`,
      action: {
        label: of.length === 1 ? 'Retry' : `Retry ${of.length}`,
        command: 'dead-letters/retry',
        params: { seqs: of.map(({ seq }) => seq) },
      },
    };
  });
}

function tokenItem(token: ListedToken, now: number): AttentionItem[] {
  const { id, agent, role, expires_at } = token;
  if (expires_at === undefined || !isRenewedByHand(token) || !endsSoon(token, now)) return [];
  const what = `A token with role ${role} ${expires_at > now ? 'expires soon' : 'has expired'}.`;
  return [{ id: `token ${id}`, level: 'soon', who: agent, what, since: expires_at, link: '/system' }];
}

function strandedItem(warning: string): AttentionItem {
  const what = `${warning.charAt(0).toUpperCase()}${warning.slice(1)}.`;
  return { id: warning, level: 'soon', who: 'tokens', what, link: '/system' };
}

function hookItem({ name, last_refusal }: WebhookReport, now: number): AttentionItem[] {
  if (!last_refusal || now - last_refusal.at > attentionLimits.unknownOutcomeMs) return [];
  const what = `A delivery was refused: ${last_refusal.reason}`;
  const since = last_refusal.at;
  return [{ id: `hook ${name}`, level: 'soon', who: `webhook ${name}`, what, since, link: '/system' }];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
