/** Chooses between the parts of a view. */
export function Tabs({
  label,
  parts,
  chosen,
  onChoose,
}: {
  label: string;
  parts: Readonly<Record<string, string>>;
  chosen: string;
  onChoose: (name: string) => void;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {Object.entries(parts).map(([name, title]) => (
        <button key={name} type="button" aria-pressed={chosen === name} onClick={() => onChoose(name)}>
          {title}
        </button>
      ))}
    </nav>
  );
}
