import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * A button that submits its form only by a new press: neither a key that is held down since it opened the form, nor the second half of a
 * double click, counts.
 */
export function FreshButton({
  label,
  look,
  isDisabled,
  hasFocus = false,
}: {
  label: string;
  look: string;
  isDisabled: boolean;
  /** True if it is focused when it appears. */
  hasFocus?: boolean;
}) {
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (hasFocus) button.current?.focus();
  }, []);
  return (
    <button
      type="submit"
      class={look}
      ref={button}
      disabled={isDisabled}
      onKeyDown={(event) => {
        if (event.repeat) event.preventDefault();
      }}
      onClick={(event) => {
        if (event.detail > 1) event.preventDefault();
      }}
    >
      {label}
    </button>
  );
}
