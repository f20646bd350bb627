import {
  allCommands,
  allSteps,
  type CompletedCommand,
  type CompletedValue,
  valueOptions,
} from './command-tree.ts';
import { namesCommand } from './names-command.ts';

/** Writes the completion of a program for zsh: to be evaluated, or as the file `_NAME` in a folder of `fpath`. */
export function zshCompletion(program: CompletedCommand): string {
  const name = program.path;
  const commands = allCommands(program);
  const steps = allSteps(program).map(
    ({ from, word, to }) => `      (${quoted(`${from} ${word}`)}) where=${quoted(to)} ;;`,
  );
  return `#compdef ${name}
# Completion of ${name} for zsh. It was written by: ${name} completion zsh
_${name}() {
  local where=${name} word takes
  local -i at
  local -a options subcommands
  for ((at = 2; at < CURRENT; at++)); do
    word=\${words[at]}
    if [[ $word == -- ]]; then
      _files
      return
    fi
    _${name}_takes $where
    if [[ " $takes " == *" $word "* ]]; then
      ((at++))
      continue
    fi
    case "$where $word" in
${steps.join('\n')}
    esac
  done
  case "$where \${words[CURRENT-1]}" in
${commands.flatMap((command) => valueCases(command, name)).join('\n')}
  esac
  _${name}_takes $where
  [[ " $takes " == *" \${words[CURRENT-1]} "* ]] && return
  case $where in
${commands.map((command) => commandCase(command, name)).join('\n')}
  esac
}
_${name}_takes() {
  case $1 in
${commands.map((command) => `    (${quoted(command.path)}) takes=${quoted(valueOptions(command).join(' '))} ;;`).join('\n')}
  esac
}
_${name}_names() {
  local -a found
  found=(\${(f)"$($words[1] ${namesCommand} $1 \${words[2,CURRENT-1]} 2>/dev/null </dev/null)"})
  compadd -- $found
}
if [[ \${funcstack[1]-} == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function valueCases({ path, options }: CompletedCommand, program: string): string[] {
  return options.flatMap(({ names, value }) => {
    const step = valueStep(value, program);
    if (step === undefined) return [];
    return [`    (${names.map((option) => quoted(`${path} ${option}`)).join('|')}) ${step}; return ;;`];
  });
}

function commandCase({ path, options, commands, argument }: CompletedCommand, program: string): string {
  const step = valueStep(argument, program);
  const below = commands.flatMap(({ names, description }) =>
    names.map((name) => described(name, description)),
  );
  const flags = options.flatMap(({ names, description }) =>
    names.map((name) => described(name, description)),
  );
  return [
    `    (${quoted(path)})`,
    `      options=(${flags.join(' ')})`,
    ...(below.length > 0
      ? [`      subcommands=(${below.join(' ')})`, "      _describe 'command' subcommands"]
      : []),
    ...(step === undefined ? [] : [`      ${step}`]),
    "      _describe -o 'option' options",
    '      ;;',
  ].join('\n');
}

function valueStep(value: CompletedValue, program: string): string | undefined {
  switch (value.kind) {
    case 'choice':
      return `compadd -- ${value.choices.map(quoted).join(' ')}`;
    case 'names':
      return `_${program}_names ${value.of}`;
    case 'file':
      return '_files';
    case 'directory':
      return '_files -/';
    default:
      return undefined;
  }
}

/** A colon divides a word from its description. */
function described(word: string, description: string): string {
  return quoted(`${word.replaceAll(':', '\\:')}:${description.replaceAll('\\', '\\\\')}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
