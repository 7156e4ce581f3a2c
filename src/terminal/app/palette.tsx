import { useState } from "preact/hooks";
import { Dialog } from "../dialogs/dialog.tsx";
import { text } from "../text/catalogue.ts";
import { type Command, commands, isPaletteOpen } from "./commands.ts";

/** Finds a command by a part of its name. Enter runs the first one. */
export function Palette() {
  return isPaletteOpen.value ? <OpenPalette /> : null;
}

const close = (): void => {
  isPaletteOpen.value = false;
};

function OpenPalette() {
  const [typed, setTyped] = useState("");
  const wanted = typed.trim().toLowerCase();
  const found = commands().filter(({ title }) => title.toLowerCase().includes(wanted));
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    // The dialog gives the focus back when it closes, and the command may move it.
    close();
    setTimeout(() => command.run(), 0);
  };
  return (
    <Dialog title={text.palette} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(found[0]);
        }}
      >
        <div class="box">
          <input
            class="left"
            aria-label={text.searchCommands}
            placeholder={text.searchCommands}
            autocomplete="off"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
      </form>
      <ul class="commands" aria-label={text.palette}>
        {found.map((command) => (
          <li key={command.title}>
            <button type="button" onClick={() => run(command)}>
              {command.title}
              {command.key !== undefined && <kbd>{command.key.toUpperCase()}</kbd>}
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="empty">{text.noCommand}</p>}
    </Dialog>
  );
}
