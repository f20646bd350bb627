import type { Attention, SignInFacts } from '@signalbox/daemon/dashboard';
import type { Hold } from '@signalbox/protocol';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { holdForm, standingHolds } from './model/holds.ts';
import { isRoutine, type LiveState, liveState } from './model/live.ts';
import { dismiss, failureText, notices } from './model/notices.ts';
import { goToSearch, keysShown, pageKeyOf } from './model/page-keys.ts';
import { useResource } from './model/resource.ts';
import { hrefOf, route } from './model/route.ts';
import { canAct, canDecide, canLook, signIn, signInWith, signOut } from './model/sign-in.ts';
import { RateLine } from './parts/rate-line.tsx';
import { StateMark } from './parts/state-mark.tsx';
import { Text } from './parts/text.tsx';
import mark from './style/mark.svg';
import { AgentsView } from './views/agents.tsx';
import { AnswerForm } from './views/answer-form.tsx';
import { Approvals, ApprovalsView } from './views/approvals/approvals.tsx';
import type { ApprovalsPage } from './views/approvals/ended.tsx';
import { AttentionView } from './views/attention.tsx';
import { CallsView } from './views/calls.tsx';
import { ConversationsView } from './views/conversations.tsx';
import { DeadView } from './views/dead.tsx';
import { HoldBanner } from './views/holds/hold-banner.tsx';
import { HoldForm } from './views/holds/hold-form.tsx';
import { ServersView } from './views/servers.tsx';
import { SystemView } from './views/system.tsx';
import { TimelineView } from './views/timeline.tsx';
import { ToolsView } from './views/tools.tsx';

/** A view. `name` is the first word of its address. */
interface ShownView {
  name: string;
  /** The letter that goes to it, after `g`. */
  key: string;
  title: string;
  show: () => ComponentChildren;
}

const approvalsView: ShownView = {
  name: 'approvals',
  key: 'p',
  title: 'Approvals',
  show: () => <ApprovalsView />,
};

/** The views besides the first one, which lists what needs attention, in the order of the menu. */
const views: readonly ShownView[] = [
  approvalsView,
  { name: 'agents', key: 'a', title: 'Agents', show: () => <AgentsView /> },
  { name: 'conversations', key: 'c', title: 'Conversations', show: () => <ConversationsView /> },
  { name: 'timeline', key: 't', title: 'Timeline', show: () => <TimelineView /> },
  { name: 'dead', key: 'd', title: 'Dead letters', show: () => <DeadView /> },
  { name: 'calls', key: 'l', title: 'Calls', show: () => <CallsView /> },
  { name: 'tools', key: 'o', title: 'Tools', show: () => <ToolsView /> },
  { name: 'servers', key: 's', title: 'Servers', show: () => <ServersView /> },
  { name: 'system', key: 'y', title: 'System', show: () => <SystemView /> },
];

/** The letters that go to a view, after `g`. */
const jumps = Object.fromEntries([['n', ''], ...views.map(({ key, name }) => [key, name])]);

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
  const [token, setToken] = useState('');
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    document.title = 'Signalbox';
  }, []);
  const enter = async (): Promise<void> => {
    try {
      await signInWith(token.trim());
    } catch (error) {
      setFailure(failureText(error));
    }
  };
  return (
    <main class="door">
      <img src={mark} alt="" width={48} height={48} />
      <h1>Signalbox</h1>
      {reason !== '' && <p role="alert">{reason}</p>}
      <p>To sign in, run this command, which opens the page for you:</p>
      <pre>
        <code>signalbox dashboard --open</code>
      </pre>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <label>
          <span>Or paste the token of a person, which the page forgets at once</span>
          <input
            type="password"
            value={token}
            required
            autocomplete="off"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {failure !== undefined && (
          <p class="wrong" role="alert">
            <Text>{failure}</Text>
          </p>
        )}
        <button type="submit" class="button">
          Sign in
        </button>
      </form>
    </main>
  );
}

function Inside({ facts }: { facts: SignInFacts }) {
  return canLook.value ? <Looking facts={facts} /> : <Deciding facts={facts} />;
}

/** The page for people who see everything. */
function Looking({ facts }: { facts: SignInFacts }) {
  const shown = views.find(({ name }) => name === route.value.view);
  const isUrgent = useRef(true);
  // While nothing is urgent, only the numbers in the menu could change, and traffic that goes well does not change them.
  const attention = useResource<Attention>(
    'attention',
    {},
    {
      follows: (event) => !shown || isUrgent.current || !isRoutine(event, facts.agent),
    },
  );
  const { items = [], approvals } = attention.data ?? {};
  const urgent = items.filter(({ level }) => level === 'now').length;
  isUrgent.current = urgent > 0 || (approvals ?? 1) > 0;
  useTitle(shown?.title ?? 'Needs attention', urgent);
  usePageKeys();
  const links = [
    { name: '', title: 'Needs attention', badge: urgent },
    ...views.map(({ name, title }) => ({
      ...{ name, title },
      badge: name === approvalsView.name ? (approvals ?? 0) : 0,
    })),
  ];
  return (
    <>
      <Frame facts={facts} links={links} current={shown?.name ?? ''}>
        {shown ? shown.show() : <AttentionView resource={attention} />}
      </Frame>
      <AnswerForm items={items} />
    </>
  );
}

/** The page for people who only decide on tool calls: all other requests would be refused. */
function Deciding({ facts }: { facts: SignInFacts }) {
  const resource = useResource<ApprovalsPage>('approvals');
  const { data } = resource;
  const waiting = Array.isArray(data?.approvals) ? data.approvals.length : 0;
  const { name, title } = approvalsView;
  useTitle(title, waiting);
  return (
    <Frame facts={facts} links={[{ name, title, badge: waiting }]} current={name}>
      <Approvals resource={resource} />
    </Frame>
  );
}

/** Sets a title with the number of things that need attention now. */
function useTitle(title: string, urgent: number): void {
  useEffect(() => {
    document.title = `${urgent > 0 ? `(${urgent}) ` : ''}${title} · Signalbox`;
  }, [urgent, title]);
}

interface MenuLink {
  name: string;
  title: string;
  badge: number;
}

function Frame({
  facts,
  links,
  current,
  children,
}: {
  facts: SignInFacts;
  links: readonly MenuLink[];
  current: string;
  children: ComponentChildren;
}) {
  const { data } = useResource<{ holds: Hold[] }>(
    'holds',
    {},
    {
      follows: (event) => !isRoutine(event, facts.agent),
    },
  );
  useEffect(() => {
    standingHolds.value = data?.holds ?? [];
  }, [data]);
  return (
    <div class="inside">
      <Menu facts={facts} links={links} current={current} />
      <div class="side">
        <HoldBanner />
        <div class="place" key={current}>
          {children}
        </div>
        <Notices />
      </div>
      <HoldForm />
      {keysShown.value && <Keys />}
    </div>
  );
}

const lives: Readonly<Record<LiveState, readonly ['good' | 'busy' | 'bad', string]>> = {
  connecting: ['busy', 'connecting'],
  open: ['good', 'live'],
  lost: ['bad', 'broker away'],
  ended: ['bad', 'signed out'],
};

function setKeysShown(isShown: boolean): void {
  keysShown.value = isShown;
}

/** Has the keys act that act on every view. They come first, so that a letter after `g` is no key of the view. */
function usePageKeys(): void {
  useEffect(() => {
    let isJump = false;
    const onKey = (event: KeyboardEvent): void => {
      const does = pageKeyOf(event, { jumps, isJump });
      isJump = does === 'jump';
      if (does === undefined) return;
      event.preventDefault();
      if (does === 'help') setKeysShown(true);
      else if (does === 'search') goToSearch();
      else if (does !== 'jump') location.hash = hrefOf(does.view);
    };
    addEventListener('keydown', onKey, { capture: true });
    return () => removeEventListener('keydown', onKey, { capture: true });
  }, []);
}

/** Lists the keys, over the page. */
function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (): void => setKeysShown(false);
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-label="Keys"
      onClose={close}
      onKeyDown={(event) => {
        // Only the dialog closes; the page below stays.
        if (event.key === 'Escape') event.stopPropagation();
      }}
    >
      <h2>Keys</h2>
      <dl class="keys-list">
        {[
          ['/', 'go to the search'],
          ['↓ ↑', 'go from row to row; Enter shows the details'],
          ['Esc', 'close the details'],
          ['j k a d', 'in Approvals: next, before, approve, deny'],
          ['Ctrl+Enter', 'send an answer'],
          ['g n', 'Needs attention'],
          ...views.map(({ key, title }) => [`g ${key}`, title] as const),
        ].map(([keys = '', does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}

function holdEverything(): void {
  holdForm.value = { on: 'all' };
}

function Menu({
  facts: { agent },
  links,
  current,
}: {
  facts: SignInFacts;
  links: readonly MenuLink[];
  current: string;
}) {
  const [tone, word] = lives[liveState.value];
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    menu.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <header class="menu">
      <p class="brand">
        <img src={mark} alt="" width={22} height={22} /> <span>Signalbox</span>
      </p>
      {canAct.value && (
        <button type="button" class="button stop" onClick={holdEverything}>
          Hold…
        </button>
      )}
      <nav aria-label="Views" ref={menu}>
        <ul>
          {links.map(({ name, title, badge }) => (
            <li key={name}>
              <a href={hrefOf(name)} {...(current === name && { 'aria-current': 'page' as const })}>
                {title}
                {badge > 0 && <span class="badge">{badge}</span>}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="foot">
        {canLook.value && <RateLine />}
        <p role="status">
          <StateMark tone={tone}>{word}</StateMark>
        </p>
        <p class="who">
          <Text>{agent}</Text>
          {!canAct.value && (
            <span class="quiet"> {canDecide.value ? 'only decides on tool calls' : 'only looks'}</span>
          )}
        </p>
        {canLook.value && (
          <button type="button" class="button plain keys-button" onClick={() => setKeysShown(true)}>
            Keys <kbd>?</kbd>
          </button>
        )}
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
