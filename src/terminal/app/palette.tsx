import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../dialogs/dialog.tsx";
import { settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { type Command, commands, isPaletteOpen } from "./commands.ts";

/** Finds a command by parts of its name. The arrows choose, and Enter runs: the combobox of ARIA, with a list. */
export function Palette() {
  return isPaletteOpen.value ? <OpenPalette /> : null;
}

const close = (): void => {
  isPaletteOpen.value = false;
};

function run(command: Command | undefined): void {
  if (command === undefined) return;
  // The dialog gives the focus back when it closes, and the command may move it.
  close();
  setTimeout(() => command.run(), 0);
}

const LIST = "palette-list";
const optionId = (index: number): string => `${LIST}-${index}`;

/** Each typed word must occur in the name. The name of a market alone means the market, not a command that trades in it. */
function matching(typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const isIn = (name: string) => (word: string) => name.toLowerCase().includes(word);
  return commands().filter(({ title, market }) => {
    const isMarketOnly = market !== undefined && words.length > 0 && words.every(isIn(market));
    return words.every(isIn(title)) && !isMarketOnly;
  });
}

function OpenPalette() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const found = matching(typed);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: "nearest" }), [chosen]);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found.length === 0) return;
    event.preventDefault();
    setAt((chosen + step + found.length) % found.length);
  };
  return (
    <Dialog title={text.palette} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(found[chosen]);
        }}
      >
        <div class="box">
          <input
            class="left"
            role="combobox"
            aria-label={text.searchCommands}
            aria-expanded={true}
            aria-controls={LIST}
            aria-autocomplete="list"
            {...(found.length > 0 && { "aria-activedescendant": optionId(chosen) })}
            placeholder={text.searchCommands}
            autocomplete="off"
            spellcheck={false}
            maxLength={60}
            value={typed}
            onKeyDown={move}
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              setAt(0);
            }}
          />
        </div>
      </form>
      <div class="commands" ref={list} id={LIST} role="listbox" aria-label={text.palette}>
        {found.map((command, index) => (
          <Option key={command.title} command={command} id={optionId(index)} isChosen={index === chosen} />
        ))}
      </div>
      <p class={found.length === 0 ? "empty" : "hidden"} role="status">
        {found.length === 0 ? text.noCommand : text.commandCount(found.length)}
      </p>
    </Dialog>
  );
}

/** The keyboard stays in the field, so an option only takes clicks. */
function Option({ command, id, isChosen }: { command: Command; id: string; isChosen: boolean }) {
  const key = command.id === undefined ? "" : settings.value.hotkeys[command.id];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the combobox has the focus, and names the active option.
    <div id={id} role="option" aria-selected={isChosen} onClick={() => run(command)}>
      {command.title}
      {key !== "" && <kbd>{key}</kbd>}
    </div>
  );
}
