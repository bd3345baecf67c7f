/** Whether a name below the folder is left out. */
export function isHidden(name: string): boolean {
  return name.startsWith(".") && name !== ".sluiceignore";
}

/** Git's own folder, and those that a mounted ConfigMap consists of: no one moves a file there. */
export function isNeverRead(name: string): boolean {
  return name === ".git" || name.startsWith("..");
}
