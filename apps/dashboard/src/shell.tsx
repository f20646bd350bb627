import type { Attention, SessionFacts } from '@signalbox/dashboard';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { type LiveState, liveState } from './model/live.ts';
import { dismiss, notices } from './model/notices.ts';
import { useResource } from './model/resource.ts';
import { hrefOf, route } from './model/route.ts';
import { signIn, signOut } from './model/session.ts';
import { RateLine } from './parts/rate-line.tsx';
import { StateMark } from './parts/state-mark.tsx';
import { Text } from './parts/text.tsx';
import mark from './style/mark.svg';
import { AgentsView } from './views/agents.tsx';
import { AttentionView } from './views/attention.tsx';
import { CallsView } from './views/calls.tsx';
import { DeadView } from './views/dead.tsx';
import { ServersView } from './views/servers.tsx';
import { SystemView } from './views/system.tsx';
import { TimelineView } from './views/timeline.tsx';

/** The views by the first word of their address, in the order of the menu. The first is the home. */
const views: readonly { name: string; title: string; show: () => ComponentChildren }[] = [
  { name: 'agents', title: 'Agents', show: () => <AgentsView /> },
  { name: 'timeline', title: 'Timeline', show: () => <TimelineView /> },
  { name: 'dead', title: 'Dead letters', show: () => <DeadView /> },
  { name: 'calls', title: 'Calls', show: () => <CallsView /> },
  { name: 'servers', title: 'Servers', show: () => <ServersView /> },
  { name: 'system', title: 'System', show: () => <SystemView /> },
];

/** The page: a way to sign in, or the menu and one view. */
export function Shell() {
  const { value } = signIn;
  if (value.state === 'checking')
    return (
      <main class="door">
        <h1>Signalbox</h1>
        <p role="status">
          {liveState.value === 'lost' ? 'The broker does not answer; trying again …' : 'Signing in …'}
        </p>
      </main>
    );
  return value.state === 'out' ? <Door reason={value.reason} /> : <Inside facts={value.facts} />;
}

function Door({ reason }: { reason: string }) {
  useEffect(() => {
    document.title = 'Signalbox';
  }, []);
  return (
    <main class="door">
      <img src={mark} alt="" width={48} height={48} />
      <h1>Signalbox</h1>
      {reason !== '' && <p role="alert">{reason}</p>}
      <p>To sign in, run this command and open the link that it prints:</p>
      <pre>
        <code>signalbox dashboard</code>
      </pre>
    </main>
  );
}

function Inside({ facts }: { facts: SessionFacts }) {
  const attention = useResource<Attention>('attention');
  const urgent = attention.data?.items.filter(({ level }) => level === 'now').length ?? 0;
  const { view } = route.value;
  const shown = views.find(({ name }) => name === view);
  const title = shown?.title ?? 'Needs attention';
  useEffect(() => {
    document.title = `${urgent > 0 ? `(${urgent}) ` : ''}${title} · Signalbox`;
  }, [urgent, title]);
  return (
    <div class="inside">
      <Menu facts={facts} view={shown ? view : ''} urgent={urgent} />
      {shown ? (
        <div class="place" key={view}>
          {shown.show()}
        </div>
      ) : (
        <div class="place">
          <AttentionView resource={attention} />
        </div>
      )}
      <Notices />
    </div>
  );
}

const lives: Readonly<Record<LiveState, readonly ['good' | 'busy' | 'bad', string]>> = {
  connecting: ['busy', 'connecting'],
  open: ['good', 'live'],
  lost: ['bad', 'broker away'],
  ended: ['bad', 'signed out'],
};

function Menu({
  facts: { agent, can_act },
  view,
  urgent,
}: {
  facts: SessionFacts;
  view: string;
  urgent: number;
}) {
  const [tone, word] = lives[liveState.value];
  const entry = (name: string, title: string, badge = 0) => (
    <li key={name}>
      <a href={hrefOf(name)} {...(view === name && { 'aria-current': 'page' as const })}>
        {title}
        {badge > 0 && <span class="badge">{badge}</span>}
      </a>
    </li>
  );
  return (
    <header class="menu">
      <p class="brand">
        <img src={mark} alt="" width={22} height={22} /> Signalbox
      </p>
      <nav aria-label="Views">
        <ul>
          {entry('', 'Needs attention', urgent)}
          {views.map(({ name, title }) => entry(name, title))}
        </ul>
      </nav>
      <div class="foot">
        <RateLine />
        <p role="status">
          <StateMark tone={tone}>{word}</StateMark>
        </p>
        <p class="who">
          <Text>{agent}</Text>
          {!can_act && <span class="quiet"> only looks</span>}
        </p>
        <button type="button" class="button plain" onClick={() => void signOut()}>
          Sign out
        </button>
      </div>
    </header>
  );
}

function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(({ id, tone, text, href }) => (
        <p key={id} class={`notice ${tone}`}>
          <Text>{text}</Text>
          {href !== undefined && <a href={href}>Show</a>}
          <button type="button" class="button plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </p>
      ))}
    </div>
  );
}
