import { idsCommand, type Value, type Words } from "./words.ts";

/** The script for fish 3. Its function prints what may stand at the cursor, with what it is for after a tab. */
export function fishScript(words: Words): string {
  return `# Completion of sluice for fish: sluice completion fish > ~/.config/fish/completions/sluice.fish

# What may follow a command.
function __sluice_after
    switch "$argv[1]"
${[...words.after].map(([name, list]) => `        case ${quoted(name)}\n            printf '%s\\n' ${list.map((one) => lineOf(name, one, words)).join(" ")}`).join("\n")}
    end
end

# What the value of an option, or an argument, may be.
function __sluice_value
    switch "$argv[1]"
${[...words.values].map(([key, value]) => `        case ${caseOf(key)}\n            printf '%s\\n' ${wordsOfValue(value)}`).join("\n")}
    end
end

function __sluice_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    set -l program $tokens[1]
    set -l command ""
    set -l option ""
    set -l count 0
    set -l target
    set -e tokens[1]
    for word in $tokens
        if test -n "$option"
            contains -- $option --config --data-dir; and set -a target $option $word
            set option ""
            continue
        end
        switch "$word"
            case ${words.valued.join(" ")}
                set option $word
            case '-*'
            case '*'
                if test -z "$command"
                    set command $word
                else if contains -- "$command" ${words.groups.join(" ")}
                    set command "$command $word"
                else
                    set count (math $count + 1)
                end
        end
    end
    set -l before ""
    if test -z "$option"; and string match -q -- '--*=*' "$current"
        set option (string replace -r '=.*' '' -- "$current")
        set before "$option="
        set current (string replace -r '^[^=]*=' '' -- "$current")
    end

    set -l kind
    if test -n "$option"
        set kind (__sluice_value "$command $option")
    else if not string match -q -- '-*' "$current"
        set kind (__sluice_value "$command "(math $count + 1))
    end
    switch "$kind[1]"
        case '@path'
            __fish_complete_path "$current"
        case '@pipeline'
            $program ${idsCommand} $target 2>/dev/null
        case ''
            if test -z "$option"; and begin
                    test $count -eq 0; or string match -q -- '-*' "$current"
                end
                __sluice_after "$command"
            end
        case '*'
            for word in $kind
                echo "$before$word"
            end
    end
end

complete -c sluice -f -a '(__sluice_complete)'
`;
}

/** A word, and behind a tab what it is for. */
function lineOf(after: string, word: string, { descriptions }: Words): string {
  const described = descriptions.get(`${after} ${word}`.trim());
  return quoted(described === undefined ? word : `${word}\t${described}`);
}

function wordsOfValue(value: Value): string {
  return typeof value === "string" ? `'@${value}'` : value.map(quoted).join(" ");
}

function caseOf(key: string): string {
  if (key === "--config") return "'* --config'";
  if (!key.endsWith(" *")) return quoted(key);
  // Its patterns know no digits, and `validate *` would also be an option.
  return Array.from({ length: 9 }, (_, index) => quoted(`${key.slice(0, -1)}${index + 1}`)).join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
