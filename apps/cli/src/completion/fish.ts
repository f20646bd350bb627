import {
  allCommands,
  allSteps,
  type CompletedCommand,
  type CompletedValue,
  valueOptions,
} from './command-tree.ts';
import { namesCommand } from './names-command.ts';

/** Writes the completion of a program for fish. */
export function fishCompletion(program: CompletedCommand): string {
  const name = program.path;
  const commands = allCommands(program);
  const steps = allSteps(program).map(
    ({ from, word, to }) =>
      `                case ${quoted(`${from} ${word}`)}\n                    set path ${quoted(to)}`,
  );
  return `# Completion of ${name} for fish. It was written by: ${name} completion fish
function __${name}_path
    set -l path ${name}
    set -l takes
    set -l is_value 0
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $is_value = 1
            set is_value 0
            continue
        end
        test "$word" = --; and break
        set takes (__${name}_takes $path)
        if contains -- $word $takes
            set is_value 1
        else
            switch "$path $word"
${steps.join('\n')}
            end
        end
    end
    echo $path
end
function __${name}_takes
    switch "$argv"
${commands
  .filter((command) => valueOptions(command).length > 0)
  .map(
    (command) =>
      `        case ${quoted(command.path)}\n            string split ' ' -- ${quoted(valueOptions(command).join(' '))}`,
  )
  .join('\n')}
    end
end
function __${name}_at
    test (__${name}_path) = "$argv"; and not contains -- -- (commandline -opc)
end
function __${name}_names
    set -l words (commandline -opc)
    command $words[1] ${namesCommand} $argv $words[2..-1] 2>/dev/null </dev/null
end
complete -c ${name} -e
complete -c ${name} -n 'not contains -- -- (commandline -opc)' -f
${commands.flatMap((command) => linesOf(command, name)).join('\n')}
`;
}

function linesOf({ path, options, commands, argument }: CompletedCommand, program: string): string[] {
  const start = `complete -c ${program} -n ${quoted(`__${program}_at ${path}`)}`;
  const values = argumentText(argument, program);
  return [
    ...commands.flatMap(({ names, description }) =>
      names.map((name) => `${start} -a ${name} -d ${quoted(description)}`),
    ),
    ...(values === '' ? [] : [`${start}${values}`]),
    ...options.map(
      ({ names, description, value }) =>
        `${start}${names.map(nameText).join('')}${optionText(value, program)} -d ${quoted(description)}`,
    ),
  ];
}

function nameText(name: string): string {
  return name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`;
}

function optionText(value: CompletedValue, program: string): string {
  switch (value.kind) {
    case 'none':
      return '';
    case 'file':
      return ' -r -F';
    default:
      return ` -x${argumentText(value, program)}`;
  }
}

function argumentText(value: CompletedValue, program: string): string {
  switch (value.kind) {
    case 'choice':
      return ` -a ${quoted(value.choices.join(' '))}`;
    case 'names':
      return ` -a '(__${program}_names ${value.of})'`;
    case 'file':
      return ' -F';
    case 'directory':
      return " -a '(__fish_complete_directories)'";
    default:
      return '';
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
