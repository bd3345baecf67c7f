import { idsCommand, type Value, type Words } from "./words.ts";

/** The script for zsh 5, for a file `_sluice` of `$fpath`, or to be sourced after `compinit`. */
export function zshScript(words: Words): string {
  return `#compdef sluice
# Completion of sluice for zsh: sluice completion zsh > "\${fpath[1]}/_sluice"

# What may follow a command.
_sluice_after() {
  case "$1" in
${[...words.after].map(([name, list]) => `    ("${name}") print -l -- ${list.map((one) => lineOf(name, one, words)).join(" ")} ;;`).join("\n")}
  esac
}

# What the value of an option, or an argument, may be.
_sluice_value() {
  case "$1" in
${[...words.values].map(([key, value]) => `    (${caseOf(key)}) print -r -- "${kindOf(value)}" ;;`).join("\n")}
  esac
}

_sluice() {
  local current="\${words[CURRENT]}" command="" option="" word kind
  local -i count=0 index
  local -a target described
  for ((index = 2; index < CURRENT; index++)); do
    word="\${words[index]}"
    if [[ -n $option ]]; then
      case "$option" in (--config | --data-dir) target+=("$option" "$word") ;; esac
      option=""
      continue
    fi
    case "$word" in
      (${words.valued.join(" | ")}) option="$word" ;;
      (-*) ;;
      (*)
        case "$command" in
          ("") command="$word" ;;
          (${words.groups.map((name) => `"${name}"`).join(" | ")}) command="$command $word" ;;
          (*) count=$((count + 1)) ;;
        esac
        ;;
    esac
  done
  if [[ -z $option && $current == --*=* ]]; then
    option="\${current%%=*}"
    compset -P '*='
  fi

  if [[ -n $option ]]; then
    kind="$(_sluice_value "$command $option")"
  elif [[ $current != -* ]]; then
    kind="$(_sluice_value "$command $((count + 1))")"
  fi
  case "$kind" in
    (@path) _files ;;
    (@pipeline) compadd -- \${(f)"$("\${words[1]}" ${idsCommand} "\${target[@]}" 2>/dev/null)"} ;;
    ("")
      [[ -n $option || ( $current != -* && $count -gt 0 ) ]] && return 1
      described=(\${(f)"$(_sluice_after "$command")"})
      _describe command described
      ;;
    (*) compadd -- \${(s: :)kind} ;;
  esac
}

if [[ "\${funcstack[1]}" == _sluice ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
`;
}

/** A word of `_describe`: a colon ends it, and what it is for follows. */
function lineOf(after: string, word: string, { descriptions }: Words): string {
  const described = descriptions.get(`${after} ${word}`.trim());
  const text = described === undefined ? word : `${word}:${described}`;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function caseOf(key: string): string {
  if (key === "--config") return `*" --config"`;
  return key.endsWith(" *") ? `"${key.slice(0, -1)}"<->` : `"${key}"`;
}

function kindOf(value: Value): string {
  return typeof value === "string" ? `@${value}` : value.join(" ");
}
