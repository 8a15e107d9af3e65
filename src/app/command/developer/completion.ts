import type { Command } from '../command.js';
import { choiceOf, usageError } from '../command.js';

/** What the shell offers after `troupe <name>`. */
export interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly actions: readonly string[];
  readonly options: readonly string[];
}

const usage = 'completion bash|zsh|fish';
const shells = ['bash', 'zsh', 'fish'] as const;

/** The commands are given: this file does not know them. */
export function completionCommand(read: () => Promise<readonly Completed[]>): Command {
  return {
    actions: shells,
    options: [],
    help: `Usage: troupe ${usage}

Prints a script that completes commands, actions and options.
  bash  troupe completion bash > ~/.local/share/bash-completion/completions/troupe
  zsh   troupe completion zsh > "\${fpath[1]}/_troupe"
  fish  troupe completion fish > ~/.config/fish/completions/troupe.fish
`,
    run: async (rest) => {
      const [word, ...more] = rest;
      if (word === undefined || more.length > 0) throw usageError('name one shell', usage);
      const shell = choiceOf(word, { what: 'shell', choices: shells, usage });
      process.stdout.write(scripts[shell](await read()));
    },
  };
}

const scripts = { bash, zsh, fish } as const;

function wordsOf({ actions, options }: Completed): string {
  return [...actions, ...options.map((name) => `--${name}`), '--help'].join(' ');
}

function bash(commands: readonly Completed[]): string {
  const cases = commands.map((one) => `    ${one.name}) words='${wordsOf(one)}' ;;`);
  const names = commands.map(({ name }) => name).join(' ');
  return `# bash completion of troupe
_troupe() {
  local words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${names} --help --version' -- "\${COMP_WORDS[1]}"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _troupe troupe
`;
}

function zsh(commands: readonly Completed[]): string {
  const described = commands.map(
    ({ name, summary }) => `    '${name}:${summary.replaceAll(/['\\:]/g, ' ')}'`,
  );
  const cases = commands.map((one) => `    ${one.name}) compadd -- ${wordsOf(one)} ;;`);
  return `#compdef troupe
_troupe() {
  local -a commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "$words[2]" in
${cases.join('\n')}
  esac
  _files
}
# Loaded from fpath, this file is the function's first call; sourced, it only tells the shell of it.
if [[ "$funcstack[1]" == _troupe ]]; then _troupe "$@"; else compdef _troupe troupe; fi
`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, actions, options }) => {
    const inside = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c troupe -n __fish_use_subcommand -a ${name} -d '${summary.replaceAll(/['\\]/g, ' ')}'`,
      ...(actions.length === 0 ? [] : [`complete -c troupe ${inside} -a '${actions.join(' ')}'`]),
      ...[...options, 'help'].map((option) => `complete -c troupe ${inside} -l ${option}`),
    ];
  });
  return `# fish completion of troupe\n${lines.join('\n')}\n`;
}
