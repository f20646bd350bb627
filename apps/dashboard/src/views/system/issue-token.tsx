import type { IssuedToken } from '@signalbox/client/operator';
import { doesMoreThanAct } from '@signalbox/protocol/permissions';
import { useState } from 'preact/hooks';
import { act } from '../../model/notices.ts';
import { ConfirmButton } from '../../parts/confirm-button.tsx';
import { CopyText } from '../../parts/copy-text.tsx';
import { Drawer, Facts } from '../../parts/drawer.tsx';
import { timeOf } from '../../parts/numbers.ts';
import { RoleChoice } from '../../parts/role-choice.tsx';
import { Text } from '../../parts/text.tsx';

const hour = 3_600_000;

/** The purpose of a new token: for one agent, for more than that, or for a person. */
type Purpose = 'act' | 'more' | 'person';

/** The times for which tokens may be valid, in milliseconds; `null` for no end, `undefined` for the longest time that the broker allows. */
const lifetimes: Readonly<Record<Purpose, readonly (readonly [string, number | null | undefined])[]>> = {
  act: [
    ['30 days', 720 * hour],
    ['1 day', 24 * hour],
    ['8 hours', 8 * hour],
    ['1 hour', hour],
    ['no end', null],
  ],
  more: [
    ['30 days, or as long as your token', undefined],
    ['1 day', 24 * hour],
    ['8 hours', 8 * hour],
    ['1 hour', hour],
  ],
  person: [
    ['as long as this sign-in', undefined],
    ['1 hour', hour],
  ],
};

/** Describes the lifetime of a token that does more than act for one agent. */
const bounds: Readonly<Record<Exclude<Purpose, 'act'>, string>> = {
  more: 'It does more than act for one agent, so that it also ends when the token is revoked with which you signed in. For one that lasts: signalbox token issue.',
  person:
    'It ends with this sign-in, or when the token is revoked with which you signed in. For longer access: signalbox token issue --operator, with a token that lasts.',
};

/** Issues a token, and shows it once. */
export function IssueToken({ roles, onClose }: { roles: readonly string[]; onClose: () => void }) {
  const [issued, setIssued] = useState<IssuedToken>();
  return (
    <Drawer title={issued ? 'A new token' : 'Issue a token'} onClose={onClose}>
      {issued ? <Issued of={issued} onDone={onClose} /> : <Form roles={roles} onIssued={setIssued} />}
    </Drawer>
  );
}

function Form({
  roles: known,
  onIssued,
}: {
  roles: readonly string[];
  onIssued: (token: IssuedToken) => void;
}) {
  const [holder, setHolder] = useState<'agent' | 'person'>('agent');
  const [texts, setTexts] = useState({ agent: '', role: '', approves: '', name: '' });
  const [permissions, setPermissions] = useState<'observer' | 'operator'>('observer');
  const [lifetime, setLifetime] = useState(0);
  const roles = texts.approves.split(',').map((one) => one.trim());
  const approves = roles.filter(Boolean);
  const wish =
    holder === 'agent'
      ? {
          for: holder,
          agent: texts.agent.trim(),
          role: texts.role.trim(),
          ...(approves.length > 0 && { approves }),
        }
      : { for: holder, name: texts.name.trim(), permissions };
  const purpose =
    holder === 'agent' ? (wish.for === 'agent' && doesMoreThanAct(wish) ? 'more' : 'act') : holder;
  const choices = lifetimes[purpose];
  const [, ttl] = choices[lifetime] ?? choices[0]!;
  const isWhole = holder === 'agent' ? texts.agent.trim() && texts.role.trim() : texts.name.trim();
  const issue = async (): Promise<void> => {
    const token = await act<IssuedToken>('tokens/issue', { ...wish, ttl_ms: ttl }, ({ agent }) => ({
      text: `A token for ${agent} is issued`,
    }));
    if (token) onIssued(token);
  };
  const field = (name: keyof typeof texts, label: string) => (
    <label>
      <span>{label}</span>
      <input
        value={texts[name]}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setTexts({ ...texts, [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <div class="note">
      <label>
        <span>For</span>
        <select
          value={holder}
          onChange={(event) => {
            setHolder(event.currentTarget.value as 'agent' | 'person');
            setLifetime(0);
          }}
        >
          <option value="agent">an agent</option>
          <option value="person">a person</option>
        </select>
      </label>
      {holder === 'agent' ? (
        <>
          {field('agent', 'Agent id')}
          <RoleChoice
            label="Role"
            roles={known}
            value={texts.role}
            onChange={(role) => setTexts({ ...texts, role })}
          />
          {field('approves', 'Decides on calls of these roles (usually none)')}
        </>
      ) : (
        <>
          {field('name', 'Name, as in alice')}
          <label>
            <span>May</span>
            <select
              value={permissions}
              onChange={(event) => setPermissions(event.currentTarget.value as 'observer' | 'operator')}
            >
              <option value="observer">only look</option>
              <option value="operator">do everything</option>
            </select>
          </label>
        </>
      )}
      <label>
        <span>Valid for</span>
        <select value={lifetime} onChange={(event) => setLifetime(Number(event.currentTarget.value))}>
          {choices.map(([word], index) => (
            <option key={word} value={index}>
              {word}
            </option>
          ))}
        </select>
      </label>
      {purpose !== 'act' && <p class="quiet">{bounds[purpose]}</p>}
      {isWhole && <ConfirmButton label="Issue" onConfirm={issue} />}
    </div>
  );
}

/** Shows a new token. After it is closed, nobody can see the token again. */
function Issued({
  of: { id, agent, role, approves, expires_at, token },
  onDone,
}: {
  of: IssuedToken;
  onDone: () => void;
}) {
  return (
    <>
      <p class="warning">It is not shown again. Keep it in a file that only its user can read.</p>
      <CopyText label="Token">{token}</CopyText>
      <Facts
        of={[
          ['Agent', <Text key="agent">{agent}</Text>],
          ['Role', <Text key="role">{role}</Text>],
          ['Decides on', approves && <Text key="approves">{approves.join(', ')}</Text>],
          ['Expires', expires_at === undefined ? 'never' : timeOf(expires_at)],
          ['Id', <Text key="id">{id}</Text>],
        ]}
      />
      <div class="actions">
        <button type="button" class="button" onClick={onDone}>
          Done
        </button>
      </div>
    </>
  );
}
