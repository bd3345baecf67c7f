import { idsCommand, type Value, type Words } from "./words.ts";

/** The script for bash 3.2 and newer. What a daemon answers is compared word by word, and never evaluated. */
export function bashScript(words: Words): string {
  return `# Completion of sluice for bash: source <(sluice completion bash)

# What may follow a command.
_sluice_after() {
  case "$1" in
${[...words.after].map(([name, list]) => `    "${name}") echo "${list.join(" ")}" ;;`).join("\n")}
  esac
}

# What the value of an option, or an argument, may be.
_sluice_value() {
  case "$1" in
${[...words.values].map(([key, value]) => `    ${caseOf(key)}) echo "${kindOf(value)}" ;;`).join("\n")}
  esac
}

_sluice() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" option="" count=0 word index
  local -a target
  target=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ -n $option ]]; then
      # "--output=json" comes as three words.
      [[ $word == "=" ]] && continue
      case "$option" in --config | --data-dir) target+=("$option" "$word") ;; esac
      option=""
      continue
    fi
    case "$word" in
      ${words.valued.join(" | ")}) option="$word" ;;
      -*) ;;
      *)
        case "$command" in
          "") command="$word" ;;
          ${words.groups.map((name) => `"${name}"`).join(" | ")}) command="$command $word" ;;
          *) count=$((count + 1)) ;;
        esac
        ;;
    esac
  done
  [[ $current == "=" ]] && current=""

  local kind
  COMPREPLY=()
  if [[ -n $option ]]; then
    kind="$(_sluice_value "$command $option")"
  elif [[ $current == -* ]]; then
    kind="$(_sluice_after "$command")"
  else
    kind="$(_sluice_value "$command $((count + 1))")"
    [[ -z $kind && $count -eq 0 ]] && kind="$(_sluice_after "$command")"
  fi
  case "$kind" in
    "") ;;
    @path)
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
      compopt -o filenames 2>/dev/null
      ;;
    @pipeline)
      while IFS= read -r word; do
        [[ $word == "$current"* ]] && COMPREPLY+=("$word")
      done < <("\${COMP_WORDS[0]}" ${idsCommand} "\${target[@]+"\${target[@]}"}" 2>/dev/null)
      ;;
    *)
      for word in $kind; do
        [[ $word == "$current"* ]] && COMPREPLY+=("$word")
      done
      ;;
  esac
  return 0
}

complete -F _sluice sluice
`;
}

/** \`validate *\` stands for every argument from there on. */
function caseOf(key: string): string {
  if (key === "--config") return `*" --config"`;
  return key.endsWith(" *") ? `"${key.slice(0, -1)}"[0-9]*` : `"${key}"`;
}

function kindOf(value: Value): string {
  return typeof value === "string" ? `@${value}` : value.join(" ");
}
