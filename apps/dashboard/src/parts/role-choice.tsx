import { useState } from 'preact/hooks';

/** The choice among known roles that asks for the name of another one. No role may have this name. */
const other = '…';

/** Chooses one of the known roles, or names another one. */
export function RoleChoice({
  label,
  roles,
  value,
  class: look,
  onChange,
}: {
  label: string;
  roles: readonly string[];
  value: string;
  class?: string;
  onChange: (role: string) => void;
}) {
  const [isOther, setOther] = useState(value !== '' && !roles.includes(value));
  const named = (text: string) => (
    <label class={look}>
      <span>{text}</span>
      <input
        value={value}
        required
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
  if (roles.length === 0) return named(label);
  return (
    <>
      <label class={look}>
        <span>{label}</span>
        <select
          value={isOther ? other : value}
          required
          onChange={({ currentTarget }) => {
            setOther(currentTarget.value === other);
            onChange(currentTarget.value === other ? '' : currentTarget.value);
          }}
        >
          <option value="">choose a role</option>
          {roles.map((role) => (
            <option key={role} value={role}>
              {role}
            </option>
          ))}
          <option value={other}>another one</option>
        </select>
      </label>
      {isOther && named('Name of the role')}
    </>
  );
}
