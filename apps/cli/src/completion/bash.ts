import {
  allCommands,
  allSteps,
  type CompletedCommand,
  type CompletedValue,
  valueOptions,
} from './command-tree.ts';
import { namesCommand } from './names-command.ts';

/** Writes the completion of a program for bash, from version 3.2 on. */
export function bashCompletion(program: CompletedCommand): string {
  const name = program.path;
  const commands = allCommands(program);
  const steps = allSteps(program).map(({ from, word, to }) => `      '${from} ${word}') path='${to}' ;;`);
  return `# Completion of ${name} for bash. It was written by: ${name} completion bash
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local path=${name} index word takes
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == -- ]]; then
      _${name}_paths -f
      return
    fi
    _${name}_takes "$path"
    if [[ " $takes " == *" $word "* ]]; then
      ((index++))
      continue
    fi
    case "$path $word" in
${steps.join('\n')}
    esac
  done
  case "$path $previous" in
${commands.flatMap(valueCases).join('\n')}
  esac
  _${name}_takes "$path"
  [[ " $takes " == *" $previous "* ]] && return
  case "$path" in
${commands.map((command) => `    '${command.path}')${wordsOf(command, name)} ;;`).join('\n')}
  esac
}
_${name}_takes() {
  case "$1" in
${commands.map((command) => `    '${command.path}') takes='${valueOptions(command).join(' ')}' ;;`).join('\n')}
  esac
}
_${name}_words() {
  local IFS=$' \\t\\n'
  COMPREPLY=(\${COMPREPLY[@]+"\${COMPREPLY[@]}"} $(compgen -W "$1" -- "$current"))
}
_${name}_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=(\${COMPREPLY[@]+"\${COMPREPLY[@]}"} $(compgen "$1" -- "$current"))
}
_${name}_names() {
  local found
  while IFS= read -r found; do
    [[ $found == "$current"* ]] && COMPREPLY+=("$found")
  done < <("\${COMP_WORDS[0]}" ${namesCommand} "$1" "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null </dev/null)
}
complete -F _${name} ${name}
`;

  function valueCases({ path, options }: CompletedCommand): string[] {
    return options.flatMap(({ names, value }) => {
      const step = valueStep(value, name);
      if (step === undefined) return [];
      return [`    ${names.map((option) => `'${path} ${option}'`).join(' | ')}) ${step}; return ;;`];
    });
  }
}

function wordsOf({ options, commands, argument }: CompletedCommand, program: string): string {
  const words = [...commands.flatMap(({ names }) => names), ...options.flatMap(({ names }) => names)];
  const step = valueStep(argument, program);
  return ` _${program}_words '${words.join(' ')}'${step === undefined ? '' : `; ${step}`}`;
}

function valueStep(value: CompletedValue, program: string): string | undefined {
  switch (value.kind) {
    case 'choice':
      return `_${program}_words '${value.choices.join(' ')}'`;
    case 'names':
      return `_${program}_names ${value.of}`;
    case 'file':
      return `_${program}_paths -f`;
    case 'directory':
      return `_${program}_paths -d`;
    default:
      return undefined;
  }
}
