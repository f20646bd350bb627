import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { focusIfWanted } from '../model/page-keys.ts';
import type { Resource } from '../model/resource.ts';
import { Ago } from './age.tsx';

/** The frame of a view: its heading, the controls beside it, and a note if the data is not current. */
export function View({
  title,
  summary,
  resource,
  children,
}: {
  title: string;
  summary?: ComponentChildren;
  resource: Resource<unknown>;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // A search that took the focus keeps it.
    if (document.activeElement?.matches('main input')) return;
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  const { error, at, data } = resource;
  return (
    <main class="view">
      <header class="view-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="summary">{summary}</div>
      </header>
      {error !== undefined && (
        <p class="stale" role="status">
          {error}{' '}
          {at > 0 && (
            <>
              What you see was read <Ago at={at} />.
            </>
          )}
        </p>
      )}
      {data === undefined && error === undefined ? <p class="empty">Reading …</p> : children}
    </main>
  );
}

/** A field that narrows a list down. */
export function Filter({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => focusIfWanted(field.current), []);
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        ref={field}
        type="search"
        value={value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** Says that the orchestrator gave no answer, and why. */
export function MissingNote({ message }: { message: string }) {
  return <p class="stale">Tool calls are unknown: {message}</p>;
}
