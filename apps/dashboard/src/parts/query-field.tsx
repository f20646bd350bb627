import { useEffect, useRef, useState } from 'preact/hooks';
import { focusIfWanted } from '../model/page-keys.ts';
import { takeChips, wordsOf } from './query.ts';
import { Text } from './text.tsx';

interface Props {
  label: string;
  /** The keys of chips. */
  keys: readonly string[];
  /** The chips that are set. */
  chips: Readonly<Record<string, string | undefined>>;
  /** The words; absent if only chips are searched. */
  words?: string | undefined;
  /** Called with what has changed. A chip that was removed is `undefined`. */
  onChange: (change: { chips: Readonly<Record<string, string | undefined>>; words: string }) => void;
}

/** A search in one field: words, and chips such as `agent:rob`, which a space or Enter makes. Backspace removes the last one. */
export function QueryField({ label, keys, chips, words, onChange }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState(words ?? '');
  useEffect(() => focusIfWanted(field.current), []);
  // The address may have changed by something else than this field.
  if (words !== undefined && words !== wordsOf(draft, keys)) setDraft(words);
  const take = (text: string, isWhole: boolean): void => {
    const { chips: taken, rest } = takeChips(text, keys, isWhole);
    setDraft(rest);
    onChange({ chips: taken, words: wordsOf(rest, keys) });
  };
  const set = keys.flatMap((key) => (chips[key] ? [[key, chips[key]] as const] : []));
  const remove = (key: string): void =>
    onChange({ chips: { [key]: undefined }, words: wordsOf(draft, keys) });
  return (
    <div class="query">
      {set.map(([key, value]) => (
        <button
          key={key}
          type="button"
          class="chip chosen"
          aria-label={`Remove ${key}:${value}`}
          onClick={() => {
            remove(key);
            field.current?.focus();
          }}
        >
          <span>
            <span class="quiet">{key}:</span>
            <Text>{value}</Text>
          </span>
          <span aria-hidden="true">✕</span>
        </button>
      ))}
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={set.length === 0 ? `${label}, ${keys.map((key) => `${key}:…`).join(' ')}` : ''}
        value={draft}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => take(event.currentTarget.value, false)}
        onKeyDown={(event) => {
          const last = set.at(-1);
          if (event.key === 'Enter') take(draft, true);
          else if (event.key === 'Backspace' && draft === '' && last) remove(last[0]);
        }}
      />
    </div>
  );
}
