/* Who owns the files of a base: its owner, even if root created them, so that
 * the owner can go on after root has worked in the base. */
#ifndef POINTSMAN_OS_OWNER_H
#define POINTSMAN_OS_OWNER_H

/* Gives the file or directory `fd`, created just now below the directory `dir`,
 * to the owner and the group of `dir`, if this process is root and that owner
 * is another user. If that fails, it stays with root. */
void owner_inherit(int fd, int dir);

#endif
